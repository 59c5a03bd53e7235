"""Checks a pod's limits of local storage: emptyDir, pod, containers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec

from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import limits_with_overhead, sidecars
from actors.shared.kube.quantity import quantity_value
from actors.shared.kube.quantity_text import alike, canonical

from .resources import CONTAINER_LIMIT, EMPTY_DIR_LIMIT, POD_LIMIT, DiskLayout
from .usage import PodUsage, ephemeral_bytes

STORAGE: Final = "ephemeral-storage"


class Violation(msgspec.Struct, frozen=True):
    """`signal`: label of the metric of evictions."""

    signal: str
    message: str


def is_limited(pod: Pod) -> bool:
    """Whether the pod has a limit of local storage; if not, it is not measured."""
    volumes = (volume.emptyDir for volume in pod.spec.volumes if volume.emptyDir is not None)
    return any(one.sizeLimit is not None and _size(one.sizeLimit) > 0 for one in volumes) or (
        _pod_limit(pod) is not None
    )


def violation(pod: Pod, usage: PodUsage, layout: DiskLayout) -> Violation | None:
    """The first limit that the pod exceeds, in the kubelet's order."""
    violations = chain(_empty_dirs(pod, usage), _whole_pod(pod, usage), _containers(pod, usage, layout))
    return next(violations, None)


def _empty_dirs(pod: Pod, usage: PodUsage) -> Iterator[Violation]:
    for volume in pod.spec.volumes:
        limit = volume.emptyDir.sizeLimit if volume.emptyDir is not None else None
        used = usage.volumes.get(volume.name)
        if limit is not None and used is not None and 0 < _size(limit) < used.bytes:
            text = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{canonical(limit)}". '
            yield Violation(EMPTY_DIR_LIMIT, text)


def _whole_pod(pod: Pod, usage: PodUsage) -> Iterator[Violation]:
    limit = _pod_limit(pod)
    if limit is not None and ephemeral_bytes(pod, usage) > limit:
        total = alike(_first_limit(pod), limit)
        text = f"Pod ephemeral local storage usage exceeds the total limit of containers {total}. "
        yield Violation(POD_LIMIT, text)


def _containers(pod: Pod, usage: PodUsage, layout: DiskLayout) -> Iterator[Violation]:
    """Of sidecars, too. A limit of 0 counts for the pod only, and writable layers only where all disks are one."""
    with_layer = layout is DiskLayout.SINGLE
    for container in (*pod.spec.containers, *sidecars(pod)):
        limit, one = container.resources.limits.get(STORAGE), usage.containers.get(container.name)
        if limit is None or one is None or not _size(limit):
            continue
        if one.logs.bytes + (one.rootfs.bytes if with_layer else 0) > _size(limit):
            text = f'Container {container.name} exceeded its local ephemeral storage limit "{canonical(limit)}". '
            yield Violation(CONTAINER_LIMIT, text)


def _pod_limit(pod: Pod) -> int | None:
    """None without limits."""
    return limits_with_overhead(pod).get(STORAGE)


def _first_limit(pod: Pod) -> Quantity:
    """It decides how the sum of all limits is printed."""
    limits = (one.resources.limits.get(STORAGE) for one in (*pod.spec.containers, *pod.spec.initContainers))
    return next((limit for limit in limits if limit is not None), 0)


def _size(quantity: Quantity) -> int:
    return quantity_value(quantity)
