"""Pods whose work ended an actor three times: that actor sets them aside by name and goes on with the others.

Only what depends on what a user wrote is on record, not the removal of what was made.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from supervision.actor import Actor
from supervision.quarantine import Journal, QuarantinePolicy
from supervision.work import Hand

R = TypeVar("R")
POLICY: Final = QuarantinePolicy()


class PodQuarantine:
    """Of one actor. A changed pod gets a new chance."""

    def __init__(self, actor: Actor, run_dir: str, work: str) -> None:
        """`work`: what the actor does for a pod, for the texts."""
        self._actor, self._work = actor, work
        self._journal: Journal | None = None
        try:
            self._journal = Journal(Path(run_dir) / "quarantine" / actor.name, POLICY)
        except OSError as error:
            actor.log.warning("there is no quarantine of %s: %s", work, error)
            return
        if self._journal.died_on:
            actor.log.error("the last incarnation died on %s of pod %s", work, self._journal.died_on)

    def refusal(self, uid: str, data: bytes) -> str:
        """Why nothing is done for this version of the pod; '' when it is. `data`: its JSON."""
        if self._journal is None or not self._journal.is_quarantined(_key(uid, data)):
            return ""
        return f"{self._work} of this pod ended {self._actor.name} {POLICY.crashes} times: left alone until it changes"

    def in_hand(self, uid: str, data: bytes) -> AbstractContextManager[None]:
        """The block is on record as this pod's."""
        return self._journal.hand(_key(uid, data)) if self._journal is not None else nullcontext()

    def hand(self, uid: str, data: bytes) -> Hand | None:
        """For the steps of a task (`start_task`)."""
        key = _key(uid, data)
        return self._journal.hand_of(lambda: key) if self._journal is not None else None

    async def run(self, uid: str, data: bytes, work: Coroutine[Any, Any, R]) -> R:
        """The result of the work, which is on record as this pod's in each of its steps."""
        result: R = await self._actor.start_task(work, f"{self._work} {uid}", hand=self.hand(uid, data))
        return result


def _key(uid: str, data: bytes) -> str:
    return f"{uid}/{sha256(data).hexdigest()[:16]}"
