"""The allocation of a pod's hardware when it is admitted."""

from __future__ import annotations

from collections.abc import Sequence

from actors.shared.hardware.allocation import NOTHING, ContainerAllocation, combined
from actors.shared.kube.pod import Pod

from .provider import HintProvider


class PodHardware:
    """Has all providers allocate."""

    def __init__(self, providers: Sequence[HintProvider] = ()) -> None:
        self._providers = list(providers)

    def prepares(self, pod: Pod) -> bool:
        """Whether `prepare` is to be called before each container of this pod is created."""
        return any(provider.prepares(pod) for provider in self._providers)

    async def allocate(self, pod: Pod) -> dict[str, ContainerAllocation]:
        """What each container of the pod gets, by name. Raises AllocationError, AskError: some containers may have got
        something by then, so the caller releases the pod, or asks again."""
        found: dict[str, ContainerAllocation] = {}
        if self._providers:
            for container in (*pod.spec.initContainers, *pod.spec.containers):
                parts = [await provider.allocate(pod, container, None) for provider in self._providers]
                found[container.name] = combined(parts)
        return {name: allocation for name, allocation in found.items() if allocation != NOTHING}

    async def prepare(self, uid: str, container: str) -> ContainerAllocation:
        """What the container gets that is about to be created. Raises AllocationError, AskError."""
        return combined([await provider.prepare(uid, container) for provider in self._providers])

    def release(self, uid: str) -> None:
        """The pod has nothing any more."""
        for provider in self._providers:
            provider.release(uid)
