"""Holds questions about pods while a new incarnation does not know them yet.

After a restart of the status manager the workers report their pods again. An answer before that would deny pods which
run: `kubectl logs` would fail with "not found", and the list of pods would be empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from supervision.actor import Actor
from supervision.time_scale import scaled

WAIT_SECONDS: Final = 2.0
"""Seconds from the start after which questions are answered with what is known: a worker may be down, or its sources
may not be ready."""


class FirstReports:
    """Whether the workers have reported their pods to this incarnation. A worker that has just started lists its pods
    before it has reported each."""

    def __init__(self, actor: Actor) -> None:
        self._over = asyncio.Event()
        actor.after(scaled(WAIT_SECONDS), self._over.set)

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def listed(self, uids: Iterable[str], reported: AbstractSet[str]) -> None:
        """Every worker has listed its pods, `uids`; `reported` are those of which it has said more."""
        if reported >= set(uids):
            self._over.set()

    async def wait(self) -> None:
        """Until the pods are known, or WAIT_SECONDS have passed since the start."""
        await self._over.wait()
