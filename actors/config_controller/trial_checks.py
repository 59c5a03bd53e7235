"""Looks at the supervisors while a configuration is on trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from supervision.actor import Actor, AskError, Timer
from supervision.protocol import FORK_SERVER, GetTree

from . import trial

TRIAL_CHECK_SECONDS: Final = 10.0
MOST_DEATHS: Final = 8
"""The incidents of one actor between two checks. Its supervisor does not count those on inputs that the quarantine sets
aside, but where each pod is such an input the configuration is at fault. Restarts are not counted: each change of the
configuration orders some."""


class TrialChecks:
    """Reports the result of each check to `step`. The trial fails when a supervisor reaches its restart intensity, or
    an actor dies again and again.

    `failed` names the supervisors that did, of those with the ages in seconds since they did last.
    """

    def __init__(
        self, actor: Actor, step: Callable[[trial.Event], None], failed: Callable[[Mapping[str, float]], list[str]]
    ) -> None:
        self._actor, self._step, self._failed = actor, step, failed
        self._timer: Timer | None = None
        self._incidents: dict[str, int] = {}
        """By name, at the last check of this trial."""

    def update(self, on_trial: bool) -> None:
        """Look each 10 s during a trial, and not otherwise."""
        if on_trial and self._timer is None:
            self._incidents = {}
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
        incidents = {each.name: each.incidents for each in tree.actors}
        died = [name for name, count in incidents.items() if count - self._incidents.get(name, count) > MOST_DEATHS]
        self._incidents = incidents
        if failed:
            self._step(trial.TrialFailed(f"{', '.join(failed)} reached its restart intensity"))
        elif died:
            self._step(trial.TrialFailed(f"{', '.join(died)} died more than {MOST_DEATHS} times in a row"))
        else:
            self._step(trial.TrialTick())
