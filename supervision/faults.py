"""Fault injection, for `supervise inject` and for the tests.

The fork server does `crash` and `stop` itself, with signals. The other faults happen in the actor's process, which
makes a `Faults` on the first order. The event loop is imported where it is used: the command line needs only the table.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any

from .message import Message
from .process_messages import Exited, Hello, Started
from .protocol import Fault, Inject

DEFAULT_RATES: dict[Fault, float] = {"leak": 10.0, "slow": 0.5, "drop": 0.5}
LASTING: frozenset[Fault] = frozenset({"hang", "stop", "leak", "slow", "drop"})
EXPLAINED: dict[Fault, str] = {
    "crash": "SIGKILL by the fork server",
    "exit": "end the process with exit code --status",
    "exception": "raise in the next handler, after a second without one in a timer",
    "hang": "busy loop, for --seconds or until killed",
    "stop": "SIGSTOP by the fork server, SIGCONT after --seconds",
    "leak": "allocate --rate MiB a second, for --seconds or until killed",
    "slow": "delay every handler by --rate seconds, for --seconds or until replaced",
    "drop": "lose a share of messages, --rate from 0 to 1, for --seconds or until replaced",
}
MOST_SECONDS = 86400.0
MOST_RATE = 1e6
_MIB = 1024 * 1024
_LEAK_STEP_SECONDS = 0.05
_NEXT_HANDLER_SECONDS = 1.0


class InjectedFault(Exception):
    """Raised in an actor on order."""


def check(inject: Inject) -> str:
    """The error in the order; '' if it is valid."""
    if inject.seconds < 0:
        return f"seconds: {inject.seconds:g} is negative"
    if not inject.seconds <= MOST_SECONDS:
        return f"seconds: {inject.seconds:g} is not a time up to {MOST_SECONDS:g}"
    if inject.seconds and inject.fault not in LASTING:
        return f"seconds: {inject.fault} does not last"
    if inject.rate < 0:
        return f"rate: {inject.rate:g} is negative"
    if not inject.rate <= MOST_RATE:
        return f"rate: {inject.rate:g} is not a number up to {MOST_RATE:g}"
    if inject.rate and inject.fault not in DEFAULT_RATES:
        return f"rate: {inject.fault} has none"
    if inject.fault == "drop" and inject.rate > 1:
        return f"rate: {inject.rate:g} is not a share, 0 to 1"
    if inject.status is not None and inject.fault != "exit":
        return f"status: {inject.fault} has none"
    if inject.status is not None and not 0 <= inject.status <= 255:
        return f"status: {inject.status} is not an exit code, 0 to 255"
    return ""


class Faults:
    """The faults injected into this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, rng: Callable[[], float] = random.random) -> None:
        self._clock, self._rng = clock, rng
        self._active: dict[Fault, tuple[float, float]] = {}
        self._exception = False
        self._leaked: list[bytearray] = []

    def order(self, inject: Inject) -> Coroutine[Any, Any, None] | None:
        """Inject the fault now, or keep it for later messages. A returned coroutine runs beside the handlers."""
        seconds = inject.seconds or float("inf")
        rate = inject.rate or DEFAULT_RATES.get(inject.fault, 0.0)
        if inject.fault == "exit":
            os._exit(1 if inject.status is None else inject.status)
        if inject.fault == "hang":
            self._hang(seconds)
        elif inject.fault == "exception":
            self._exception = True
            return self._raise_soon()
        elif inject.fault == "leak":
            return self._leak(rate, seconds)
        elif inject.fault in ("slow", "drop"):
            self._active[inject.fault] = (self._clock() + seconds, rate)
        return None

    def intercept(self, message: Any) -> bool:
        """Called before a message is handled: raises InjectedFault or sleeps, as ordered. False: drop the message."""
        if self._exception:
            raise InjectedFault("exception injected into the handler")
        if delay := self._rate("slow"):
            time.sleep(delay)
        # Facts from the fork server use their own pipe and are never dropped; neither are payloads of plain Thespian. A
        # lost Hello would not be repeated, because its sender has lost nothing.
        if not isinstance(message, Message) or isinstance(message, Started | Exited | Hello):
            return True
        return self._rng() >= self._rate("drop")

    def _rate(self, fault: Fault) -> float:
        until, rate = self._active.get(fault, (0.0, 0.0))
        return rate if self._clock() < until else 0.0

    def _hang(self, seconds: float) -> None:
        end = self._clock() + seconds
        while self._clock() < end:
            pass

    async def _raise_soon(self) -> None:
        import asyncio

        await asyncio.sleep(_NEXT_HANDLER_SECONDS)
        raise InjectedFault("exception injected; no message came meanwhile")

    async def _leak(self, rate: float, seconds: float) -> None:
        import asyncio

        started_at = self._clock()
        passed, done = 0.0, 0
        while passed < seconds:
            passed = min(seconds, self._clock() - started_at)
            wanted = int(passed * rate * _MIB)
            # not zeros: zero pages are shared until they are written to
            self._leaked.append(bytearray(b"\x01") * (wanted - done))
            done = wanted
            await asyncio.sleep(_LEAK_STEP_SECONDS)
