"""Status calls for single pods: at most one at a time for each pod, and a bounded number at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.looking import look
from actors.shared.cri.model import PodRuntime
from supervision.actor import Actor
from supervision.time_scale import scaled

AT_ONCE: Final = 16
DEADLINE_SECONDS: Final = 20.0
"""Shorter than the deadline of a CRI call, so that sandboxes that hang make room for others."""


class Failure(Exception):
    """A status call failed; the text says why."""


class StatusCalls:
    """Asks for pods on behalf of an actor, which takes each outcome."""

    def __init__(self, actor: Actor, client: CriClient, take: Callable[[str, PodRuntime | Failure], None]) -> None:
        """`take` gets the UID, and all that the runtime has of the pod."""
        self._actor, self._client, self._take = actor, client, take
        self._room = asyncio.Semaphore(AT_ONCE)
        self._under_way: set[str] = set()
        self._again: set[str] = set()

    def ask(self, uid: str) -> asyncio.Task[None] | None:
        """Ask for one pod; None if that is under way already: then it is asked for again afterwards."""
        if uid in self._under_way:
            self._again.add(uid)
            return None
        self._under_way.add(uid)
        return self._actor.start_task(self._call(uid), f"status of {uid}")

    async def _call(self, uid: str) -> None:
        outcome = await self._outcome(uid)
        self._under_way.discard(uid)
        again = uid in self._again
        self._again.discard(uid)
        self._take(uid, outcome)
        if again and not isinstance(outcome, Failure):  # after a failure the next relist asks anyway
            self.ask(uid)

    async def _outcome(self, uid: str) -> PodRuntime | Failure:
        try:
            async with self._room, asyncio.timeout(scaled(DEADLINE_SECONDS)):
                began = time.monotonic()
                found = await look(self._client, uid)
                self._actor.metrics.observe("kubelet_pleg_pod_relist_duration_seconds", time.monotonic() - began)
                return found
        except (CriError, TimeoutError) as error:
            return Failure(str(error) or f"no answer in {scaled(DEADLINE_SECONDS):.0f} s")
