"""Status calls for single pods: at most one at a time for each pod, and a bounded number at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, PodRuntime, Sandbox
from actors.shared.cri.pod_lookup import known_ids, look, look_at
from actors.shared.kube.go_text import rpc_error
from supervision.actor import Actor
from supervision.time_scale import scaled

AT_ONCE: Final = 16
LATE: Final = rpc_error("DEADLINE_EXCEEDED", "context deadline exceeded")
DEADLINE_SECONDS: Final = 20.0
"""Shorter than the deadline of a CRI call, so that sandboxes that hang make room for others."""


class Failure(Exception):
    """A status call failed; the text has the reason."""

    def __init__(self, text: str, error: str) -> None:
        super().__init__(text)
        self.error = error
        """As the kubelet prints it."""


class ListedPod(msgspec.Struct, frozen=True):
    """The result of a relist for one pod."""

    at: float
    """The start of the relist, on the monotonic clock."""
    sandboxes: list[str] = []
    containers: dict[str, str] = {}
    """ID of its sandbox by ID of the container."""


def listed_pods(
    at: float, uids: frozenset[str], sandboxes: Iterable[Sandbox], containers: Iterable[CriContainer]
) -> dict[str, ListedPod]:
    """The pods that are in a relist, by UID."""
    found = {uid: ListedPod(at) for uid in uids}
    for sandbox in sandboxes:
        if sandbox.pod_uid in found:
            found[sandbox.pod_uid].sandboxes.append(sandbox.id)
    for container in containers:
        if container.pod_uid in found:
            found[container.pod_uid].containers[container.id] = container.sandbox_id
    return found


class StatusCalls:
    """Asks for pods on behalf of an actor, which takes each outcome."""

    def __init__(
        self,
        actor: Actor,
        client: CriClient,
        known: Callable[[], Mapping[str, PodRuntime]],
        take: Callable[[str, PodRuntime | Failure], None],
    ) -> None:
        """`known`: the last outcomes, by UID. `take` gets the UID, and all that the runtime has of the pod."""
        self._actor, self._client, self._known, self._take = actor, client, known, take
        self._room = asyncio.Semaphore(AT_ONCE)
        self._under_way: set[str] = set()
        self._repeats: set[str] = set()

    def ask(self, uid: str, listed: ListedPod | None = None) -> asyncio.Task[None] | None:
        """Ask for one pod; None if that is under way already: then it is asked for again afterwards.

        `listed`: from the relist that calls for it, so that the pod is not listed once more."""
        if uid in self._under_way:
            self._repeats.add(uid)
            return None
        self._under_way.add(uid)
        return self._actor.start_task(self._call(uid, listed), f"status of {uid}")

    async def _call(self, uid: str, listed: ListedPod | None) -> None:
        outcome = await self._outcome(uid, listed)
        self._under_way.discard(uid)
        again = uid in self._repeats
        self._repeats.discard(uid)
        self._take(uid, outcome)
        if again and not isinstance(outcome, Failure):  # after a failure the next relist asks anyway
            self.ask(uid)

    async def _outcome(self, uid: str, listed: ListedPod | None) -> PodRuntime | Failure:
        try:
            async with self._room, asyncio.timeout(scaled(DEADLINE_SECONDS)):
                started_at = time.monotonic()
                found = await self._query_pod(uid, listed)
                self._actor.metrics.observe("kubelet_pleg_pod_relist_duration_seconds", time.monotonic() - started_at)
                return found
        except CriError as error:
            return Failure(str(error), error.rpc_text)
        except TimeoutError:
            return Failure(f"no answer in {scaled(DEADLINE_SECONDS):.0f} s", LATE)

    async def _query_pod(self, uid: str, listed: ListedPod | None) -> PodRuntime:
        known = known_ids(self._known().get(uid))
        if listed is None:
            return await look(self._client, uid, known)
        return await look_at(self._client, uid, listed.sandboxes, listed.containers, known, lambda: listed.at)
