"""Failures on order: what happens to the next calls of a method."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from .world import RpcFailure, Sleep

FOREVER = 1 << 30


@dataclass(frozen=True)
class Fault:
    """What happens to a call; several may be combined, in this order."""

    delay: float = 0.0
    """Seconds before it is carried out. Given up when the caller does."""
    hang: bool = False
    """Never carried out; answered never."""
    error: str = ""
    """gRPC code that it fails with, e.g. UNAVAILABLE; nothing is carried out."""
    details: str = "injected"
    late: float | None = None
    """Carried out after so many seconds, also when the caller has given up by then."""
    held: asyncio.Event | None = None
    """Carried out once this is set, also when the caller has given up by then."""
    unheeded: bool = False
    """Answered by an empty message; nothing is carried out."""
    duplicate: bool = False
    """Carried out twice: a create makes two with the same name, as only a broken runtime does."""
    answer_lost: bool = False
    """Carried out, but answered UNAVAILABLE: the runtime died between the two."""
    answer_held: bool = False
    """Carried out, but not answered."""
    times: int = FOREVER
    """How many calls it meets."""


class Faults:
    """The faults in force, by method name; '*' for every method."""

    def __init__(self, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._by_method: dict[str, list[tuple[Fault, int]]] = {}

    def add(self, method: str, fault: Fault) -> None:
        """Behind those that are there already."""
        self._by_method.setdefault(method, []).append((fault, fault.times))

    def clear(self, method: str = "") -> None:
        if method:
            self._by_method.pop(method, None)
        else:
            self._by_method.clear()

    def take(self, method: str) -> Fault | None:
        """The fault that meets this call."""
        for key in (method, "*"):
            waiting = self._by_method.get(key)
            if waiting:
                fault, left = waiting[0]
                waiting[0] = (fault, left - 1)
                if left <= 1:
                    del waiting[0]
                return fault
        return None

    async def before(self, fault: Fault | None) -> None:
        """Wait, hang or fail as the fault says. Raises RpcFailure."""
        if fault is None:
            return
        if fault.delay:
            await self._sleep(fault.delay)
        if fault.late:
            await self._sleep(fault.late)
        if fault.held is not None:
            await fault.held.wait()
        if fault.hang:
            await asyncio.Event().wait()
        if fault.error:
            raise RpcFailure(fault.error, fault.details)
