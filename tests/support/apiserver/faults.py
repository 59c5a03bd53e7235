"""Faults to order, and the book of what was asked."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

import msgspec

from .errors import StatusError
from .request import Drop, Request, Target


class Fault(msgspec.Struct):
    """What matches all that is given gets it: `times` times, or (-1) until it is removed.

    `kind`: delay (`seconds` first, then as usual), hang (never an answer), status (`code`, `retry_after`), conflict
    (409), drop (the connection is cut instead of an answer), lost (done, but the connection is cut before the answer),
    stale (reads see the state of `revisions` changes ago), cut (a watch ends after `seconds`).
    """

    kind: str
    verb: str = ""
    resource: str = ""
    """`pods`, `pods/status`, `leases`; empty: all."""
    user: str = ""
    name: str = ""
    agent: str = ""
    """A part of the User-Agent."""
    seconds: float = 0.0
    code: int = 503
    retry_after: int = 0
    revisions: int = 0
    times: int = -1
    seen: int = 0
    """How often it was applied."""

    def fits(self, request: Request, target: Target | None) -> bool:
        if self.times == 0 or (self.user and self.user != request.user.name):
            return False
        if self.agent and self.agent not in request.headers.get("user-agent", ""):
            return False
        if target is None:
            return not (self.verb or self.resource or self.name)
        return (
            self.verb in ("", target.verb)
            and self.resource in ("", target.described)
            and self.name in ("", target.name)
        )

    def use(self) -> None:
        self.seen += 1
        self.times -= self.times > 0


class Faults:
    def __init__(self) -> None:
        self.orders: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self.orders.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self.orders.remove(fault)

    def clear(self) -> None:
        self.orders.clear()

    def find(self, request: Request, target: Target | None, *kinds: str) -> Fault | None:
        """The first of these kinds that fits, which is used by that."""
        for one in self.orders:
            if one.kind in kinds and one.fits(request, target):
                one.use()
                return one
        return None

    async def before(self, request: Request, target: Target | None) -> Drop | None:
        """Raises StatusError."""
        if fault := self.find(request, target, "delay"):
            await asyncio.sleep(fault.seconds)
        if self.find(request, target, "hang"):
            await asyncio.get_running_loop().create_future()
        if self.find(request, target, "drop"):
            return Drop()
        if fault := self.find(request, target, "status"):
            raise StatusError(fault.code, "as ordered by the test", retry_after=fault.retry_after)
        if target is not None and self.find(request, target, "conflict"):
            text = f'Operation cannot be fulfilled on {target.resource.qualified} "{target.name}": the object has been '
            raise StatusError(409, f"{text}modified; please apply your changes to the latest version and try again")
        return None


@dataclass
class Seen:
    """A request that came; `status` 0 while there is no answer."""

    at: float
    method: str
    target: str
    verb: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    user: str = ""
    agent: str = ""
    content_type: str = ""
    body: bytes = b""
    status: int = 0

    def json(self) -> dict[str, object]:
        found: dict[str, object] = msgspec.json.decode(self.body)
        return found


Book = deque[Seen]
