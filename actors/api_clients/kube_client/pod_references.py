"""The Secrets and ConfigMaps that a pod refers to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef
from actors.shared.kube import codec, pods
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import TERMINAL_PHASES
from actors.shared.kube.volumes import Volume
from supervision.errors import UNREADABLE


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct):
    status: _Status = _Status()


_read = msgspec.json.Decoder(_Pod)


def references_of(data: bytes) -> dict[ObjectRef, bool]:
    """The references of a pod in JSON. Of an ended pod only the phase is read: a node may have thousands. Raises
    ObjectError."""
    try:
        if _read.decode(data).status.phase in TERMINAL_PHASES:
            return {}
    except UNREADABLE:
        pass  # the full decoder reports the cause
    return references(codec.decode_pod(data))


def references(pod: Pod) -> dict[ObjectRef, bool]:
    """Each reference, and whether it is mounted: mounted objects are followed as long as the pod exists.

    A pod that has ended needs none.
    """
    if pod.status.phase in TERMINAL_PHASES:
        return {}
    found: dict[ObjectRef, bool] = {}
    for kind, name, mounted in _named_objects(pod):
        if name:
            # kind is one of the two below
            ref = ObjectRef(kind, name, pod.metadata.namespace)  # type: ignore[arg-type]
            found[ref] = found.get(ref, False) or mounted
    return found


def _named_objects(pod: Pod) -> Iterator[tuple[str, str, bool]]:
    for secret in pod.spec.imagePullSecrets:
        yield "Secret", secret.name, False
    for container in pods.all_containers(pod):
        yield from _of_container(container)
    for volume in pod.spec.volumes:
        yield from _of_volume(volume)


def _of_container(container: Container) -> Iterator[tuple[str, str, bool]]:
    for source in container.envFrom:
        if source.secretRef is not None:
            yield "Secret", source.secretRef.name, False
        if source.configMapRef is not None:
            yield "ConfigMap", source.configMapRef.name, False
    for variable in container.env:
        chosen = variable.valueFrom
        if chosen is not None and chosen.secretKeyRef is not None:
            yield "Secret", chosen.secretKeyRef.name, False
        if chosen is not None and chosen.configMapKeyRef is not None:
            yield "ConfigMap", chosen.configMapKeyRef.name, False


def _of_volume(volume: Volume) -> Iterator[tuple[str, str, bool]]:
    for _, source in volume.sources():
        if not isinstance(source, msgspec.Raw):
            yield from source.objects()
