"""Keeps running containers on their CPUs. The shared CPUs become fewer when another container gets exclusive CPUs.

Each period asks the runtime which containers run, and updates those whose CPUs differ from the last update. A new
process updates each container once. As in the kubelet, a container that was created with exclusive CPUs is not updated
while it has these: a plugin of the runtime (NRI) that has changed them is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState
from proto import cri_pb2 as cri
from supervision.actor import Actor
from supervision.repeated_warnings import RepeatedWarnings

CpusOf = Callable[[str, str], str | None]
"""Takes (pod UID, container) and returns its CPUs; None for a pod that is not the agent's."""
CreatedWith = Callable[[str, str], bool]
"""Takes (pod UID, container); whether the container was created with the CPUs that it is to have."""
_LIST: Final = "cpus: list"


class CpuSetChange(msgspec.Struct, frozen=True):
    """A container whose CPUs differ from its last update."""

    container: CriContainer
    cpus: str


def changes(containers: Iterable[CriContainer], applied: Mapping[str, str], cpus_of: CpusOf) -> list[CpuSetChange]:
    """`applied`: CPUs by container id. Pure."""
    running = [one for one in containers if one.state is CriContainerState.RUNNING]
    found = [(one, cpus_of(one.pod_uid, one.name)) for one in running]
    return [CpuSetChange(one, cpus) for one, cpus in found if cpus and applied.get(one.id) != cpus]


class CpuReconciliation:
    """Reads the running containers, and applies the changes."""

    def __init__(
        self, actor: Actor, client: CriClient, warnings: RepeatedWarnings, cpus_of: CpusOf, created_with: CreatedWith
    ) -> None:
        self._actor, self._client, self._warnings = actor, client, warnings
        self._cpus_of, self._created_with = cpus_of, created_with
        self._applied: dict[str, str] = {}
        self._failed: set[str] = set()
        """Containers that a warning was logged for."""

    def start(self, seconds: float) -> None:
        """`seconds`: cpuManagerReconcilePeriod."""
        self._actor.every(seconds, self.reconcile, jitter=0.1)

    async def reconcile(self) -> None:
        try:
            containers = await self._client.list_containers()
        except CriError as error:
            self._warnings.warn(_LIST, f"containers may run on CPUs of others: the runtime does not list them: {error}")
            return
        self._warnings.resolved(_LIST)
        there = {one.id for one in containers}
        self._applied = {one: cpus for one, cpus in self._applied.items() if one in there}
        for one in containers:
            if one.id not in self._applied and self._created_with(one.pod_uid, one.name):
                self._applied[one.id] = self._cpus_of(one.pod_uid, one.name) or ""
        for gone in self._failed - there:
            self._forget_failure(gone)
        for change in changes(containers, self._applied, self._cpus_of):
            await self._apply(change)

    async def _apply(self, change: CpuSetChange) -> None:
        try:
            resources = cri.LinuxContainerResources(cpuset_cpus=change.cpus)
            await self._client.update_container_resources(change.container.id, resources)
        except CriError as error:
            text = f"container {change.container.name} of pod {change.container.pod_uid} is not moved to CPUs"
            self._warnings.warn(_key(change.container.id), f"{text} {change.cpus} (tried again): {error}")
            self._failed.add(change.container.id)
            return
        self._forget_failure(change.container.id)
        self._applied[change.container.id] = change.cpus

    def _forget_failure(self, container_id: str) -> None:
        """The container has been moved, or has ended."""
        self._failed.discard(container_id)
        self._warnings.resolved(_key(container_id))


def _key(container_id: str) -> str:
    return f"cpus: {container_id}"
