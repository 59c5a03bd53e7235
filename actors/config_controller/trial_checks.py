"""Looks at the supervisors while a configuration is on trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from supervision.actor import Actor, AskError, Timer
from supervision.protocol import FORK_SERVER, GetTree

from . import trial

TRIAL_CHECK_SECONDS: Final = 10.0


class TrialChecks:
    """Reports the result of each look to `step`. The trial fails when a supervisor reaches its restart intensity.

    `failed` names the supervisors that did, of those with the ages in seconds since they did last.
    """

    def __init__(
        self, actor: Actor, step: Callable[[trial.Event], None], failed: Callable[[Mapping[str, float]], list[str]]
    ) -> None:
        self._actor, self._step, self._failed = actor, step, failed
        self._timer: Timer | None = None

    def update(self, on_trial: bool) -> None:
        """Look each 10 s during a trial, and not otherwise."""
        if on_trial and self._timer is None:
            self._timer = self._actor.every(TRIAL_CHECK_SECONDS, self._check_tree, immediately=True)
        elif not on_trial and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _check_tree(self) -> None:
        try:
            tree = await self._actor.ask(FORK_SERVER, GetTree(memory=False), timeout=5.0)
        except AskError:
            return
        failed = self._failed({each.name: each.gave_up_age for each in tree.actors if each.gave_up})
        self._step(
            trial.TrialFailed(f"{', '.join(failed)} reached its restart intensity") if failed else trial.TrialTick()
        )
