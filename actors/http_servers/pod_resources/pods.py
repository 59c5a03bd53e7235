"""The pods of this node as the pod resources API shows them, as plain data. Pure.

Devices, exclusive CPUs and memory blocks come from the managers that hand them out; until those exist, no container has
any, and their lists are empty, as on a node of the reference without such managers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

ENDED: Final = frozenset({"Succeeded", "Failed"})


class _Container(msgspec.Struct):
    name: str
    restartPolicy: str = ""


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = "default"


class _Spec(msgspec.Struct):
    containers: list[_Container] = []
    initContainers: list[_Container] = []


class _Status(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    """The used fields of a v1 Pod; others are skipped."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class _PodList(msgspec.Struct):
    items: list[_Pod] = []


class PodInUse(msgspec.Struct, frozen=True):
    """One pod and its containers that use resources as long as it runs: sidecars, then regular ones."""

    name: str
    namespace: str
    containers: tuple[str, ...]
    ended: bool = False
    """It has succeeded or failed."""


def pods_in_use(pod_list: bytes, *, active_only: bool) -> list[PodInUse]:
    """Of a v1 PodList as JSON. `active_only`: without the pods that have ended (gate
    KubeletPodResourcesListUseActivePods). Raises msgspec.DecodeError."""
    pods = msgspec.json.decode(pod_list, type=_PodList).items
    found = (
        PodInUse(
            pod.metadata.name, pod.metadata.namespace, tuple(_containers(pod.spec)), ended=pod.status.phase in ENDED
        )
        for pod in pods
    )
    return [pod for pod in found if not (active_only and pod.ended)]


def _containers(spec: _Spec) -> Iterator[str]:
    # an init container frees its resources when it ends; a sidecar is one that does not end (KEP-753)
    yield from (container.name for container in spec.initContainers if container.restartPolicy == "Always")
    yield from (container.name for container in spec.containers)


def find(pods: list[PodInUse], namespace: str, name: str) -> PodInUse | None:
    return next((pod for pod in pods if (pod.namespace, pod.name) == (namespace, name)), None)
