"""Refreshes volumes of running pods when an object that their files come from changes, or a token is due."""

from __future__ import annotations

from functools import partial
from typing import Final

from actors.api_clients.kube_client.messages import ObjectRef
from actors.pod_workers.messages import RetryMounts, worker_of
from actors.shared.config.agent import Agent
from actors.shared.input_quarantine import InputQuarantine
from actors.shared.keyed_locks import KeyedLocks
from supervision.actor import Actor

from .pod_mounts import PodMounts

TOKEN_SECONDS: Final = 30.0
"""How often the age of tokens is checked."""
RETRY_SECONDS: Final = 10.0


class Refresh:
    """Refreshes the volumes of each pod, one refresh of a pod at a time."""

    def __init__(
        self, actor: Actor, agent: Agent, mounts: PodMounts, locks: KeyedLocks, quarantine: InputQuarantine
    ) -> None:
        self._actor, self._agent, self._mounts, self._locks = actor, agent, mounts, locks
        self._quarantine = quarantine
        self._pending: set[str] = set()

    def start(self) -> None:
        self._actor.every(TOKEN_SECONDS, self._replace_tokens, jitter=0.1)

    def object_changed(self, ref: ObjectRef) -> None:
        for uid in self._mounts.using(ref):
            self.refresh_soon(uid)

    def trust_bundles_changed(self) -> None:
        for uid in self._mounts.with_trust_bundles():
            self.refresh_soon(uid)

    def refresh_later(self, uid: str) -> None:
        self._actor.after(RETRY_SECONDS, partial(self.refresh_soon, uid))

    def refresh_soon(self, uid: str) -> None:
        """Refresh the pod's volumes soon. If its worker waits for them, the worker retries the mount instead."""
        if self._mounts.is_waiting(uid):
            self._actor.tell(worker_of(uid, self._agent.workers), RetryMounts(uid))
        elif uid not in self._pending:
            self._pending.add(uid)
            self._actor.start_task(self._refresh(uid), f"refresh {uid}")

    def _replace_tokens(self) -> None:
        for uid in self._mounts.with_expiring_token():
            self.refresh_soon(uid)

    async def _refresh(self, uid: str) -> None:
        async with self._locks.hold(uid):
            self._pending.discard(uid)
            errors = await self._quarantine.run(uid, self._mounts.data_of(uid), self._mounts.refresh(uid))
        if errors:
            self.refresh_later(uid)
