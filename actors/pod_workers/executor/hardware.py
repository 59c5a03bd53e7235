"""The CPUs, memory nodes and devices of a container that is about to be created, and the devices of its claims."""

from __future__ import annotations

from typing import Final

from actors.container_manager.messages import CONTAINER_MANAGER, ContainerPrepared, PreparationFailed, PrepareContainer
from actors.device_manager.messages import DEVICE_MANAGER, ClaimDevices, ClaimsFailed, GetClaimDevices
from actors.pod_workers.errors import ConfigError
from actors.pod_workers.pod.state import replace
from actors.pod_workers.pod.state_values import AcquiredResources
from actors.shared.cri.cdi import ignores_cdi
from actors.shared.cri.client import CriClient
from actors.shared.hardware.allocation import NOTHING, ContainerAllocation
from actors.shared.kube.codec import encode
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_sidecar
from actors.shared.kube.resource_claims import has_claims
from supervision.actor import Actor, AskError

PREPARE_SECONDS: Final = 60.0
"""A device plug-in has 30 s to prepare its devices."""
ASK_SECONDS: Final = 30.0


async def prepared(actor: Actor, pod: Pod, container: str, acquired: AcquiredResources) -> AcquiredResources:
    """The container's allocation as of now, which may have changed since the admission. A device plugin may take long
    to answer. Raises ConfigError, AskError.
    """
    if not acquired.prepare:
        return acquired
    question = PrepareContainer(pod.metadata.uid, container, _ended_before(pod, container))
    answer = await actor.ask(CONTAINER_MANAGER, question, timeout=PREPARE_SECONDS)
    if isinstance(answer, PreparationFailed):
        raise ConfigError(answer.message)
    if not isinstance(answer, ContainerPrepared):
        raise AskError(f"container_manager answered {type(answer).__name__}")
    return replace(acquired, containers={**acquired.containers, container: answer.allocation})


def _ended_before(pod: Pod, container: str) -> list[str]:
    """The init containers that end before this one starts. Ephemeral containers start at any time."""
    names = [one.name for one in (*pod.spec.initContainers, *pod.spec.containers)]
    before = names[: names.index(container)] if container in names else []
    return [one.name for one in pod.spec.initContainers if one.name in before and not is_sidecar(one)]


async def claimed_devices(actor: Actor, pod: Pod, container: str) -> ContainerAllocation:
    """The claimed devices of a container that is about to be created. Raises ConfigError, AskError."""
    if not has_claims(pod):
        return NOTHING
    question = GetClaimDevices(pod.metadata.uid, encode(pod), container)
    answer = await actor.ask(DEVICE_MANAGER, question, timeout=ASK_SECONDS)
    if isinstance(answer, ClaimsFailed):
        raise ConfigError(answer.message)
    if not isinstance(answer, ClaimDevices):
        raise AskError(f"{DEVICE_MANAGER} answered {type(answer).__name__}")
    return ContainerAllocation(cdi_devices=tuple(answer.cdi_devices), only_cdi=bool(answer.cdi_devices))


async def require_cdi(client: CriClient, allocation: ContainerAllocation) -> None:
    """Refuse a container that would start without its CDI devices. The runtime is asked each time, because it may have
    been replaced. Raises ConfigError, CriError.
    """
    if not allocation.only_cdi:
        return
    version = await client.version()
    if ignores_cdi(version, await client.info()):
        devices = ", ".join(allocation.cdi_devices)
        raise ConfigError(
            f"{version.name} {version.version} ignores CDI devices, and the container has {devices}: "
            "enable_cdi of containerd 1.7, or containerd 2, is needed"
        )
