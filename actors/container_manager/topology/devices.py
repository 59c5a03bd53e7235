"""The hint provider of devices: asks the device manager, only about containers that request extended resources."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from actors.device_manager.messages import (
    DEVICE_MANAGER,
    AllocateDevices,
    DeviceRequest,
    DevicesRefused,
    GetDeviceHints,
    PrepareDevices,
    ReleaseDevices,
    ReserveDevices,
)
from actors.shared.hardware.allocation import NOTHING, ContainerAllocation
from actors.shared.hardware.exclusive import Exclusive
from actors.shared.hardware.hints import Hints, TopologyHint
from actors.shared.kube.container import Container
from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, is_sidecar
from supervision.actor import Actor

from .provider import AllocationError

WAITING: Final = "WaitingForDevices"
"""The event of a pod whose device plugin does not answer; the kubelet has none."""
HINT_SECONDS: Final = 15.0
"""Seconds to wait for hints and reservations, for which no plugin is asked."""
ALLOCATE_SECONDS: Final = 60.0
TELL_SECONDS: Final = 10.0
"""Seconds until the pod has an event that says what it waits for."""
PREPARE_SECONDS: Final = 45.0
"""Seconds; a plugin has 30 s to prepare a device."""


class DeviceHintProvider:
    """A HintProvider."""

    def __init__(self, actor: Actor, nodes: tuple[int, ...] = ()) -> None:
        """`nodes`: the NUMA nodes of the machine; those that only a plugin reports give no hints."""
        self._actor, self._nodes = actor, nodes
        self._requests: dict[str, dict[str, DeviceRequest | None]] = {}
        """By UID of the pods that this process has admitted: the containers that request devices; None where no known
        plugin serves the request. A pod without requests stays until no worker has it."""
        self._served: dict[str, set[str]] = {}
        """By pod; only of pods with devices."""

    async def hints(self, pod: Pod, container: Container) -> Hints:
        request = request_of(pod, container)
        return await self._hints(request) if request.amounts else {}

    async def pod_hints(self, pod: Pod) -> Hints:
        amounts = pod_amounts(pod)
        return await self._hints(DeviceRequest(uid=pod.metadata.uid, container="", amounts=amounts)) if amounts else {}

    async def _hints(self, request: DeviceRequest) -> Hints:
        question = GetDeviceHints(request, self._nodes)
        return (await self._actor.ask(DEVICE_MANAGER, question, timeout=HINT_SECONDS)).hints

    async def reserve(
        self, pod: Pod, container: Container, affinity: TopologyHint, *, running: bool
    ) -> ContainerAllocation | None:
        request = request_of(pod, container)
        if running or not request.amounts:
            return None
        self._requests.setdefault(request.uid, {}).setdefault(request.container, None)
        question = ReserveDevices(request=request, mask=affinity.mask)
        answer = await self._actor.ask(DEVICE_MANAGER, question, timeout=HINT_SECONDS)
        if isinstance(answer, DevicesRefused):
            raise AllocationError(answer.message)
        return None if answer.served else NOTHING

    async def allocate(
        self, pod: Pod, container: Container, affinity: TopologyHint | None, *, running: bool
    ) -> ContainerAllocation:
        request = request_of(pod, container)
        requests = self._requests.setdefault(request.uid, {})
        if not request.amounts:
            return NOTHING
        requests.setdefault(request.container, None)
        question = AllocateDevices(
            request=request,
            mask=affinity.mask if affinity is not None else None,
            running=running,
        )
        waiting = self._actor.after(TELL_SECONDS, lambda: self._tell_waiting(pod, request))
        try:
            answer = await self._actor.ask(DEVICE_MANAGER, question, timeout=ALLOCATE_SECONDS)
        finally:
            waiting.cancel()
        if isinstance(answer, DevicesRefused):
            raise AllocationError(answer.message)
        if answer.served:
            requests[request.container] = request
            self._served.setdefault(request.uid, set()).update(answer.served)
        return answer.allocation

    def _tell_waiting(self, pod: Pod, request: DeviceRequest) -> None:
        """Such a pod would be shown as ContainerCreating without a reason."""
        names = ", ".join(sorted(request.amounts))
        text = f"Container {request.container} waits for devices ({names}): no answer of a device plugin for"
        event = pod_event(pod.metadata, "Warning", WAITING, f"{text} {TELL_SECONDS:g} s")
        self._actor.tell(EVENT_CLIENT, event, deadline=60.0)

    def restore(self, pod: Pod, container: Container) -> None:
        """The device manager keeps what the container has."""

    def prepares(self, pod: Pod) -> bool:
        return any(self._requests.get(pod.metadata.uid, {}).values())

    async def prepare(self, uid: str, container: str, ended: Collection[str] = ()) -> ContainerAllocation:
        known = self._requests.get(uid)
        request = DeviceRequest(uid=uid, container=container, amounts={}) if known is None else known.get(container)
        if request is None:
            return NOTHING
        answer = await self._actor.ask(DEVICE_MANAGER, PrepareDevices(request), timeout=PREPARE_SECONDS)
        if isinstance(answer, DevicesRefused):
            raise AllocationError(answer.message)
        return answer.allocation

    def exclusive(self) -> Exclusive:
        """Nothing: the device manager itself answers questions about devices."""
        return Exclusive()

    def served(self, uid: str) -> frozenset[str]:
        return frozenset(self._served.get(uid, ()))

    def uids(self) -> Collection[str]:
        return list(self._requests)

    def release(self, uid: str) -> None:
        """Tell the device manager, unless the pod is known to request no device: an earlier process may have allocated
        some."""
        self._served.pop(uid, None)
        if self._requests.get(uid) != {}:
            self._requests.pop(uid, None)
            self._actor.tell(DEVICE_MANAGER, ReleaseDevices(uid), deadline=60.0)

    def forget(self, uid: str) -> None:
        self.release(uid)
        self._requests.pop(uid, None)


def request_of(pod: Pod, container: Container) -> DeviceRequest:
    """Raises QuantityError."""
    earlier = [one.name for one in pod.spec.initContainers if not is_sidecar(one) and one.name != container.name]
    return DeviceRequest(
        uid=pod.metadata.uid, container=container.name, amounts=container_amounts(container), finished=earlier
    )


def container_amounts(container: Container) -> dict[str, int]:
    """Limits of extended resources. Raises QuantityError."""
    limits = container.resources.limits
    return {name: amount(name, quantity) for name, quantity in limits.items() if is_extended(name)}


def pod_amounts(pod: Pod) -> dict[str, int]:
    """The most devices that the pod needs at one time: each init container runs beside the sidecars before it. Raises
    QuantityError."""
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.initContainers:
        needs = container_amounts(container)
        for name, needed in needs.items():
            peak[name] = max(peak.get(name, 0), running.get(name, 0) + needed)
            if is_sidecar(container):
                running[name] = running.get(name, 0) + needed
    for container in pod.spec.containers:
        for name, needed in container_amounts(container).items():
            running[name] = running.get(name, 0) + needed
    return {name: max(peak.get(name, 0), running.get(name, 0)) for name in sorted({*peak, *running})}
