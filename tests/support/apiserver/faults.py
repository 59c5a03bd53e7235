"""What a test orders the server to do wrong, and the book of what was asked.

A fault is a `Fault` of one of the kinds of the table, or, where a test decides answer by answer, a `Script`: it is
asked first, before authentication, and its reply stands.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from .errors import StatusError, conflict
from .request import Answer, Drop, Reply, Request, Stream, Target

Script = Callable[[Request], Awaitable[Reply | None]]
"""None: as without a script."""


class Fault(msgspec.Struct):
    """A request that fits all that is given gets it: `times` times, or (-1) until it is removed.

    `kind` is one of ANSWERS, or of those that change the usual answer: lost (done, but the connection is cut before the
    answer), stale (a list shows the state of `revisions` changes ago), cut (a watch ends after `seconds`).
    """

    kind: str
    verb: str = ""
    resource: str = ""
    """`pods`, `pods/status`, `leases`; empty: all."""
    user: str = ""
    name: str = ""
    path: str = ""
    """A beginning of the path, also of one that is no resource's."""
    agent: str = ""
    """A part of the User-Agent."""
    seconds: float = 0.0
    code: int = 503
    body: str = ""
    retry_after: int = 0
    revisions: int = 0
    times: int = -1
    seen: int = 0
    """How often it was applied."""

    def fits(self, request: Request, target: Target | None) -> bool:
        if self.times == 0 or (self.user and self.user != request.user.name):
            return False
        if self.agent not in request.headers.get("user-agent", "") or not request.path.startswith(self.path):
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


# -- faults that answer by themselves ---------------------------------------------------------------------------------
async def _delay(fault: Fault, target: Target | None) -> Reply | None:
    """Late by `seconds`."""
    await asyncio.sleep(fault.seconds)
    return None


async def _hang(fault: Fault, target: Target | None) -> Reply | None:
    """Never an answer."""
    await asyncio.get_running_loop().create_future()
    return None


async def _drop(fault: Fault, target: Target | None) -> Reply | None:
    """The connection is cut instead of an answer."""
    return Drop()


async def _status(fault: Fault, target: Target | None) -> Reply | None:
    """A Status with `code`, and `retry_after` if given."""
    raise StatusError(fault.code, "as ordered by the test", retry_after=fault.retry_after)


async def _answer(fault: Fault, target: Target | None) -> Reply | None:
    """`code` and `body`, whatever they are."""
    return Answer(fault.code, fault.body.encode())


async def _conflict(fault: Fault, target: Target | None) -> Reply | None:
    """409, to what names an object."""
    if target is not None:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        conflict(target.resource.qualified, target.name, why)
    return None


async def _expired(fault: Fault, target: Target | None) -> Reply | None:
    """410: a watch has it as an event."""
    error = StatusError(410, "too old resource version: as ordered by the test")
    if target is None or target.verb != "watch":
        raise error
    return Stream.of({"type": "ERROR", "object": error.status()})


ANSWERS: dict[str, Callable[[Fault, Target | None], Awaitable[Reply | None]]] = {
    "delay": _delay,
    "hang": _hang,
    "drop": _drop,
    "status": _status,
    "answer": _answer,
    "conflict": _conflict,
    "expired": _expired,
}
KINDS = (*ANSWERS, "lost", "stale", "cut")


class Faults:
    def __init__(self) -> None:
        self.orders: list[Fault] = []
        self.script: Script | None = None

    def add(self, fault: Fault) -> Fault:
        """Raises StatusError 400 for a kind that there is not."""
        if fault.kind not in KINDS:
            raise StatusError(400, f"no such fault: {fault.kind}; there are {', '.join(KINDS)}")
        self.orders.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self.orders.remove(fault)

    def clear(self) -> None:
        self.orders.clear()

    def find(self, request: Request, target: Target | None, kind: str) -> Fault | None:
        """The first of this kind that fits, which is used by that."""
        for one in self.orders:
            if one.kind == kind and one.fits(request, target):
                one.use()
                return one
        return None

    async def before(self, request: Request, target: Target | None) -> Reply | None:
        """The reply that stands instead of the usual one. Raises StatusError."""
        for kind, apply in ANSWERS.items():
            if (fault := self.find(request, target, kind)) and (reply := await apply(fault, target)) is not None:
                return reply
        return None


@dataclass
class Seen:
    """A request that came; `status` 0 while there is no answer."""

    at: float
    method: str
    target: str
    """Path and query."""
    headers: dict[str, str] = field(default_factory=dict)
    connection: int = 0
    """1 for the first connection of the server."""
    verb: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    user: str = ""
    body: bytes = b""
    status: int = 0

    @property
    def agent(self) -> str:
        return self.headers.get("user-agent", "")

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    def json(self) -> dict[str, object]:
        found: dict[str, object] = msgspec.json.decode(self.body)
        return found


Book = deque[Seen]
