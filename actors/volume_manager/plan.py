"""What has to be done for each volume of a pod: decided from the pod alone, nothing is touched."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_limits, container_requests
from actors.shared.kube.quantity import whole
from actors.shared.kube.volumes import (
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    NFSVolumeSource,
    SecretProjection,
    Volume,
    VolumeProjection,
)

from .claims import Found
from .csi import steps as csi_steps
from .csi.model import CsiMount
from .csi.steps import DRIVER_NAME
from .downward import DEFAULT_MODE
from .layout import CONFIG_MAP, DOWNWARD_API, EMPTY_DIR, PROJECTED, SECRET, is_name, volume_path
from .nfs import Nfs, export_of, nfs_step, options_of
from .sources import refusal

HUGE_PAGES: Final = "HugePages"
EMPTY_DIR_MODE: Final = 0o777
HOST_PATH_TYPES: Final = frozenset(
    {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
)


class Directory(msgspec.Struct, frozen=True):
    """emptyDir on disk."""

    volume: str
    path: str
    group: int | None


class MemoryDirectory(msgspec.Struct, frozen=True):
    """emptyDir in memory. `size` in bytes."""

    volume: str
    path: str
    group: int | None
    size: int


class HugePages(msgspec.Struct, frozen=True):
    """emptyDir of huge pages, each `page_size` bytes."""

    volume: str
    path: str
    group: int | None
    page_size: int


class HostPath(msgspec.Struct, frozen=True):
    volume: str
    path: str
    type: str


class Local(msgspec.Struct, frozen=True):
    """A directory of this node that a claim stands for. `group`: fsGroup, None for nothing to be given."""

    volume: str
    path: str
    type: str
    group: int | None
    when_root_differs: bool


class Unready(msgspec.Struct, frozen=True):
    """Cannot be made now; asking again may help."""

    volume: str
    message: str


class Downward(msgspec.Struct, frozen=True):
    """downwardAPI: files written from the pod's own fields."""

    volume: str
    path: str
    group: int | None
    source: DownwardAPIVolumeSource


class Projected(msgspec.Struct, frozen=True):
    """secret, configMap and projected: files written from objects of the API, tokens and the pod's own fields."""

    volume: str
    path: str
    group: int | None
    sources: list[VolumeProjection]
    mode: int
    """Of files for which no other is given."""
    size: int | None
    """Bytes of memory that it may take; None: it is on disk."""


class ByRuntime(msgspec.Struct, frozen=True):
    """The runtime mounts it (image volume): no host path."""

    volume: str


class Refused(msgspec.Struct, frozen=True):
    """Asking again will not help."""

    volume: str
    message: str


Step = (
    Directory
    | MemoryDirectory
    | HugePages
    | HostPath
    | Local
    | Nfs
    | Downward
    | Projected
    | ByRuntime
    | CsiMount
    | Unready
    | Refused
)


def plan(pod: Pod, pod_dir: str, memory: int, *, joined: bool = False) -> list[Step]:
    """A step for each volume, in the pod's order. `memory`: bytes that the node can give to pods.

    `joined`: there is an API server that has objects.
    """
    return [
        (_projected(pod, volume, pod_dir, memory) if joined else None)
        or _step(pod, volume, pod_dir, memory, joined=joined)
        for volume in pod.spec.volumes
    ]


def claimed(pod: Pod, volume: str, found: Found | str, pod_dir: str) -> Step:
    """For a volume that is a claim: what it stands for, or why it stands for nothing."""
    if isinstance(found, str):
        return Unready(volume, found)
    whole = pod.spec.securityContext
    claims = (one.persistentVolumeClaim for one in pod.spec.volumes if one.name == volume)
    read_only = any(claim is not None and claim.readOnly for claim in claims)
    if found.csi is not None:
        return csi_steps.of_claim(pod, volume, found.csi, pod_dir, read_only=read_only)
    if found.nfs_volume:
        options = options_of(found.options, read_only=read_only)
        return nfs_step(pod_dir, volume, found.nfs_volume, found.path, options)
    group = whole.fsGroup if found.group and not read_only else None
    return Local(volume, found.path, found.type, group, whole.fsGroupChangePolicy == "OnRootMismatch")


def _projected(pod: Pod, volume: Volume, pod_dir: str, memory: int) -> Projected | None:
    """Secrets and tokens are kept in memory, config maps on disk, as the reference does."""
    kind, mode, in_memory = SECRET, None, True
    if volume.secret is not None:
        whole_of, mode = volume.secret, volume.secret.defaultMode
        one = SecretProjection(name=whole_of.secretName, items=whole_of.items, optional=whole_of.optional)
        sources = [VolumeProjection(secret=one)]
    elif volume.configMap is not None:
        kind, mode, in_memory = CONFIG_MAP, volume.configMap.defaultMode, False
        map_of = volume.configMap
        one = SecretProjection(name=map_of.name, items=map_of.items, optional=map_of.optional)
        sources = [VolumeProjection(configMap=one)]
    elif volume.projected is not None:
        kind, mode, sources = PROJECTED, volume.projected.defaultMode, volume.projected.sources
    else:
        return None
    if not is_name(volume.name):
        return None
    sizes = [size for size in (memory, _memory_limit(pod)) if size > 0]
    return Projected(
        volume.name,
        volume_path(pod_dir, kind, volume.name),
        pod.spec.securityContext.fsGroup,
        sources,
        DEFAULT_MODE if mode is None else mode,
        min(sizes, default=0) if in_memory else None,
    )


def _step(pod: Pod, volume: Volume, pod_dir: str, memory: int, *, joined: bool) -> Step:
    if not is_name(volume.name):
        return Refused(volume.name, f"volume {volume.name!r}: the name must be a DNS label")
    if volume.emptyDir is not None:
        return _empty_dir(pod, volume.name, volume.emptyDir, volume_path(pod_dir, EMPTY_DIR, volume.name), memory)
    if volume.hostPath is not None:
        return _host_path(volume.name, volume.hostPath)
    if volume.nfs is not None:
        return _nfs(volume.name, volume.nfs, pod_dir)
    if volume.csi is not None and joined:
        if not DRIVER_NAME.match(volume.csi.driver):
            return Refused(volume.name, f"volume {volume.name!r}: {volume.csi.driver!r} is not the name of a driver")
        return csi_steps.of_pod(pod, volume.name, volume.csi, pod_dir)
    if volume.image is not None:
        return ByRuntime(volume.name)
    if volume.downwardAPI is not None:
        path = volume_path(pod_dir, DOWNWARD_API, volume.name)
        return Downward(volume.name, path, pod.spec.securityContext.fsGroup, volume.downwardAPI)
    return Refused(volume.name, refusal(volume, joined=joined))


def _empty_dir(pod: Pod, name: str, source: EmptyDirVolumeSource, path: str, memory: int) -> Step:
    group = pod.spec.securityContext.fsGroup
    if source.medium == "":
        return Directory(name, path, group)
    if source.medium == "Memory":
        return MemoryDirectory(name, path, group, _memory_size(pod, source, memory))
    if source.medium == HUGE_PAGES or source.medium.startswith(HUGE_PAGES + "-"):
        return _huge_pages(pod, name, source.medium, path)
    return Refused(name, f"volume {name!r}: unknown storage medium {source.medium!r}")


def _memory_size(pod: Pod, source: EmptyDirVolumeSource, memory: int) -> int:
    """The smallest of what the node has, what the pod may use, and the volume's own limit (KEP-1967)."""
    sizes = [memory, _memory_limit(pod), whole(source.sizeLimit) if source.sizeLimit is not None else 0]
    return min((size for size in sizes if size > 0), default=0)


def _memory_limit(pod: Pod) -> int:
    """Bytes; 0 when a container has no limit."""
    if pod.spec.resources is not None and "memory" in pod.spec.resources.limits:
        return whole(pod.spec.resources.limits["memory"])
    limits = [container_limits(container).get("memory", 0) for container in _containers(pod)]
    return sum(limits) if all(limits) else 0


def _huge_pages(pod: Pod, name: str, medium: str, path: str) -> Step:
    asked = {
        resource.removeprefix("hugepages-")
        for container in _containers(pod)
        for resource in container_requests(container)
        if resource.startswith("hugepages-")
    }
    _, _, size = medium.partition("-")
    if size and size not in asked:
        return Refused(name, f"volume {name!r}: medium {medium}, but no container requests hugepages-{size}")
    if not size and len(asked) != 1:
        found = ", ".join(sorted(asked)) or "none"
        return Refused(
            name, f"volume {name!r}: medium {medium} needs one huge page size in the requests, found {found}"
        )
    return HugePages(name, path, pod.spec.securityContext.fsGroup, whole(size or asked.pop()))


def _containers(pod: Pod) -> list[Container]:
    return [*pod.spec.initContainers, *pod.spec.containers]


def _host_path(name: str, source: HostPathVolumeSource) -> Step:
    kind = source.type or ""
    if kind not in HOST_PATH_TYPES:
        return Refused(name, f"volume {name!r}: unknown hostPath type {kind!r}")
    if not source.path.startswith("/") or "\0" in source.path:
        return Refused(name, f"volume {name!r}: hostPath {source.path!r} must be absolute")
    if ".." in source.path.split("/"):
        return Refused(name, f"volume {name!r}: hostPath {source.path!r} must not contain '..'")
    return HostPath(name, source.path, kind)


def _nfs(name: str, source: NFSVolumeSource, pod_dir: str) -> Step:
    try:
        export = export_of(source.server, source.path)
    except ValueError as error:
        return Refused(name, f"volume {name!r}: nfs: {error}")
    return nfs_step(pod_dir, name, name, export, options_of([], read_only=source.readOnly))
