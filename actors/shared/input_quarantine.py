"""Quarantines pods and images on which an actor died three times. The actor continues with the others. Only work that
depends on a user's input is recorded, not clean-up.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from supervision.actor import Actor
from supervision.errors import UNREADABLE
from supervision.quarantine import Journal, QuarantinePolicy, content_key, report_death
from supervision.task_context import InputRecord

R = TypeVar("R")
POLICY: Final = QuarantinePolicy()


class InputQuarantine:
    """The quarantine of one actor. A changed input is tried again."""

    def __init__(self, actor: Actor, run_dir: str, work: str, kind: Literal["pod", "image"] = "pod") -> None:
        """`work`: the actor's work on an input, for messages."""
        self._actor, self._work, self._kind = actor, work, kind
        self._journal: Journal | None = None
        try:
            self._journal = Journal(Path(run_dir) / "quarantine" / actor.name, POLICY, last_end=actor.last_end)
        except OSError as error:
            actor.log.warning("there is no quarantine of %s: %s", work, error)
            return
        report_death(actor.tell, self._journal)
        if self._journal.died_on:
            actor.log.error("the last incarnation died on %s of %s %s", work, kind, self._journal.died_on)

    def refusal(self, name: str, data: bytes) -> str:
        """Why this version of the input is in quarantine; '' if it is not. `name`: a pod's UID or an image's reference.
        `data`: everything else that the work depends on, such as the pod's JSON."""
        if self._journal is None or not self._journal.is_quarantined(content_key(name, data)):
            return ""
        whose = f"{self._work} of this {self._kind}"
        return f"{whose} ended {self._actor.name} {POLICY.crashes} times: left alone until it changes"

    def handling(self, name: str, data: bytes) -> AbstractContextManager[None]:
        """Record the block as work for the input."""
        return self._journal.handling(content_key(name, data)) if self._journal is not None else nullcontext()

    def record(self, name: str, data: bytes) -> InputRecord | None:
        """A record for the steps of a task (`start_task`)."""
        key = content_key(name, data)
        return self._journal.record_of(lambda: key) if self._journal is not None else None

    async def run(self, name: str, data: bytes, work: Coroutine[Any, Any, R]) -> R:
        """The result of the work. Each of its steps is recorded as work for this input."""
        result: R = await self._actor.start_task(work, f"{self._work} {name}", record=self.record(name, data))
        return result


def label_of(uid: str, data: bytes) -> str:
    """The name of a pod in quarantine, for logs. `data`: its JSON, of which only the names are read."""
    try:
        found = msgspec.json.decode(data, type=_Named).metadata
    except UNREADABLE:
        return f"pod {uid}"
    return f"pod {found.namespace}/{found.name} ({uid})"


class _Names(msgspec.Struct):
    name: str = ""
    namespace: str = "default"


class _Named(msgspec.Struct):
    metadata: _Names = msgspec.field(default_factory=_Names)
