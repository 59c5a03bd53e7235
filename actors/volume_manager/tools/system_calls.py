"""System calls that may hang, each in a disposable process with a deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from supervision.actor import Actor, DisposableError, DisposableTimeout

MOUNT_SECONDS: Final = 20.0
HUNG_SECONDS: Final = 60.0
"""Seconds after a hung call during which no other call is made for the same key."""


class CallFailed(Exception):
    """The call failed or hung; the text has the reason."""


class DisposableCalls:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._hung: set[str] = set()

    async def run(
        self,
        key: str,
        function: str,
        arguments: dict[str, Any],
        error_of: Callable[[Any], str] = lambda _: "",
        *,
        deadline: float = MOUNT_SECONDS,
    ) -> str:
        """Run the call: '' or the error's text. `key`: the path that the call may hang on; `error_of`: the error of a
        result.
        """
        try:
            return error_of(await self.call(key, function, arguments, deadline=deadline))
        except CallFailed as error:
            return str(error)

    async def call(self, key: str, function: str, arguments: dict[str, Any], *, deadline: float = MOUNT_SECONDS) -> Any:
        """The function's result. Raises CallFailed."""
        if key in self._hung:
            raise CallFailed(f"{key} did not answer: it is tried again {HUNG_SECONDS:g} s after the last attempt")
        try:
            return await self._actor.disposable(function, arguments, deadline=deadline)
        except DisposableTimeout:
            self._mark_hung(key)
            raise CallFailed(f"{key} did not answer within {deadline:g} s") from None
        except DisposableError as error:
            raise CallFailed(error.text) from None

    def _mark_hung(self, key: str) -> None:
        self._hung.add(key)
        self._actor.metrics.count("volume_operations_hung_total")
        self._actor.after(HUNG_SECONDS, lambda: self._hung.discard(key))
