"""A retry after a pause: one, however many failures ask for it meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from supervision.actor import Actor


class DelayedRetry:
    """Calls `action` once, `seconds` after the first of the calls of `schedule` since its last run."""

    def __init__(self, actor: Actor, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        self._actor, self._seconds, self._action = actor, seconds, action
        self._scheduled = False

    def schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._actor.after(self._seconds, self._run)

    async def _run(self) -> None:
        self._scheduled = False
        await self._action()
