"""Plans the termination of containers: order and grace periods. Pure.

As the kubelet does: regular containers at the same time; sidecars after them, last one first, each waiting no longer
than its own grace. The plan needs only the containers' annotations, so it also works for a pod that no source has."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from actors.shared.cri.model import CriContainer
from actors.shared.kube import names as known
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.container import Container, ContainerPort
from actors.shared.kube.handlers import LifecycleHandler, Probe
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import DEFAULT_GRACE_SECONDS, find_container, is_sidecar
from supervision.errors import UNREADABLE

_SECONDS = re.compile("[0-9]{1,9}")


class Termination(msgspec.Struct, frozen=True, kw_only=True):
    """A container to stop."""

    instance: CriContainer
    grace: int
    """Seconds for hook and SIGTERM together."""
    pre_stop: LifecycleHandler | None = None
    ports: list[ContainerPort] = []


def grace_of(instance: CriContainer, pod: Pod | None, override: int | None = None, probe: str = "") -> int:
    """The grace period of a container in seconds, the first of: an override, the API's deletion, the probe's, the
    pod's, 30."""
    if override is not None:
        return override
    annotated = instance.annotations.get(known.POD_DELETION_GRACE_PERIOD, "")
    if pod is not None:
        if pod.metadata.deletionGracePeriodSeconds is not None:
            return pod.metadata.deletionGracePeriodSeconds
        container = find_container(pod, instance.name)
        own = _probe(container, probe) if container is not None else None
        if own is not None and own.terminationGracePeriodSeconds is not None:
            return own.terminationGracePeriodSeconds
        if pod.spec.terminationGracePeriodSeconds is not None:
            return pod.spec.terminationGracePeriodSeconds
    for text in (annotated, instance.annotations.get(known.POD_TERMINATION_GRACE_PERIOD, "")):
        if _SECONDS.fullmatch(text):
            return int(text)
    return DEFAULT_GRACE_SECONDS


def _probe(container: Container, kind: str) -> Probe | None:
    """The probe that may end its container; None for any other reason of an end."""
    return {"liveness": container.livenessProbe, "startup": container.startupProbe}.get(kind)


def plan(instance: CriContainer, pod: Pod | None, override: int | None = None, probe: str = "") -> Termination:
    """Plan the termination of one container."""
    container = find_container(pod, instance.name) if pod is not None else None
    if container is not None:
        pre_stop, ports = container.lifecycle.preStop if container.lifecycle else None, container.ports
    else:
        pre_stop, ports = _annotated_hook(instance), _annotated_ports(instance)
    return Termination(
        instance=instance, grace=grace_of(instance, pod, override, probe), pre_stop=pre_stop, ports=ports
    )


def _annotated_hook(instance: CriContainer) -> LifecycleHandler | None:
    text = instance.annotations.get(known.CONTAINER_PRE_STOP_HANDLER, "")
    try:
        return decode(text.encode(), LifecycleHandler)
    except ObjectError:
        return None


def _annotated_ports(instance: CriContainer) -> list[ContainerPort]:
    try:
        return msgspec.json.decode(instance.annotations.get(known.CONTAINER_PORTS, "[]"), type=list[ContainerPort])
    except UNREADABLE:
        return []


def waits_for(pod: Pod | None, terminations: Sequence[Termination]) -> dict[str, frozenset[str]]:
    """The containers that end before each one, by container id. A sidecar ends after all regular ones, and after the
    sidecars that follow it in the list. No container waits for an ephemeral container or an init container that is not
    a sidecar."""
    if pod is None:
        return {one.instance.id: frozenset() for one in terminations}
    order = [container.name for container in pod.spec.initContainers if is_sidecar(container)]
    last = len(order)
    position_of = {name: place for place, name in enumerate(order)}
    awaited = {container.name: last for container in pod.spec.containers} | position_of
    before = {
        own: frozenset(one.instance.id for one in terminations if awaited.get(one.instance.name, -1) > own)
        for own in range(last + 1)
    }
    return {one.instance.id: before[position_of.get(one.instance.name, last)] for one in terminations}
