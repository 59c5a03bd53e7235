"""The CRI mounts of a container. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

import msgspec

from actors.pod_workers.errors import ConfigError
from actors.shared.kube.container import Container, VolumeMount
from actors.shared.kube.pod import Pod
from actors.shared.kube.variable_expansion import expand, named
from actors.shared.kube.volume_source import VolumeSource
from actors.shared.kube.volumes import Volume
from proto import cri_pb2 as cri

_UNLESS_READ_ONLY = ("csi", "local-volume", "iscsi", "fc")
_READ, _READ_WRITE = "r", "mrw"
"""Permissions of devices."""
_PLUGIN = re.compile(
    r"/volumes/kubernetes\.io~(empty-dir|secret|configmap|downward-api|projected|csi|local-volume|iscsi|fc)/"
)
_PROPAGATION = {
    None: cri.PROPAGATION_PRIVATE,
    "": cri.PROPAGATION_PRIVATE,
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


class MountSources(msgspec.Struct, frozen=True, kw_only=True):
    """The locations of a pod's volumes, and how they may be mounted."""

    paths: Mapping[str, str]
    """Host path by volume."""
    subpaths: Mapping[int, str] = {}
    """Host path by index in volumeMounts."""
    images: Mapping[str, cri.ImageSpec] = {}
    """Image by name of the image volume."""
    image_paths: Mapping[int, str] = {}
    """Expanded sub path in the image by index in volumeMounts."""
    read_only: frozenset[str] = frozenset()
    """Volumes that no container may write to."""
    recursive_read_only: bool = False
    """The runtime supports recursive read-only mounts."""
    relabelled: frozenset[str] = frozenset()
    """Volumes whose files get the SELinux label of the container."""


def expanded_subpath(mount: VolumeMount, environment: dict[str, str]) -> str:
    """The expanded sub path of a volume mount; '' for none. Raises ConfigError if it leaves the volume, or if a
    variable has no value."""
    path = mount.subPath
    if mount.subPathExpr:
        missing = sorted({name for name in named(mount.subPathExpr) if not environment.get(name)})
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
        path = expand(mount.subPathExpr, environment)
    if path.startswith("/"):
        raise ConfigError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise ConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def read_only_volumes(pod: Pod) -> frozenset[str]:
    """Volumes that are read-only for all containers, whatever their volume mounts specify."""
    return frozenset(
        volume.name
        for volume in pod.spec.volumes
        for _, source in volume.sources()
        if isinstance(source, VolumeSource) and source.only_read
    )


def relabelled_volumes(pod: Pod, paths: Mapping[str, str]) -> frozenset[str]:
    """Volumes that the kubelet relabels on a host with SELinux: volumes created for the pod, and writable volumes of
    CSI drivers and disks. Host files are never relabelled. `paths`: host path by volume."""
    return frozenset(
        volume.name
        for volume in pod.spec.volumes
        if (plugin := _PLUGIN.search(paths.get(volume.name, "")))
        and (plugin[1] not in _UNLESS_READ_ONLY or not _only_read(volume))
    )


def _only_read(volume: Volume) -> bool:
    source = volume.csi or volume.iscsi or volume.fc or volume.persistentVolumeClaim
    return source is not None and bool(source.readOnly)


def image_volumes(pod: Pod, container: Container) -> dict[str, str]:
    """The images that the container mounts as volumes, by volume."""
    mounted = {mount.name for mount in container.volumeMounts}
    return {
        volume.name: volume.image.reference
        for volume in pod.spec.volumes
        if volume.image is not None and volume.name in mounted
    }


def absolute(path: str) -> str:
    """A path in a container; a relative one begins at its root."""
    return path if path.startswith("/") else posixpath.normpath(f"/{path}")


def volume_mounts(container: Container, sources: MountSources) -> list[cri.Mount]:
    """The mounts of the container's volumes. Raises ConfigError."""
    return [_mount(container, index, sources) for index in range(len(container.volumeMounts))]


def volume_devices(container: Container, paths: Mapping[str, str], read_only: Collection[str]) -> list[cri.Device]:
    """The container's volumes of the mode Block. Raises ConfigError.

    `paths`: host path by volume; `read_only`: volumes that no container may write to.
    """
    found = []
    for device in container.volumeDevices:
        if not device.devicePath.startswith("/"):
            raise ConfigError(f"error DevicePath `{device.devicePath}` must be an absolute path")
        if device.name not in paths:
            raise ConfigError(f'cannot find volume "{device.name}" to pass into container "{container.name}"')
        entry = cri.Device(host_path=paths[device.name], container_path=device.devicePath)
        entry.permissions = _READ if device.name in read_only else _READ_WRITE
        found.append(entry)
    return found


def _mount(container: Container, index: int, sources: MountSources) -> cri.Mount:
    mount = container.volumeMounts[index]
    entry = cri.Mount(
        container_path=absolute(mount.mountPath),
        readonly=mount.readOnly or mount.name in sources.read_only,
        recursive_read_only=_recursive(mount, sources),
        propagation=_PROPAGATION.get(mount.mountPropagation, cri.PROPAGATION_PRIVATE),
        selinux_relabel=mount.name in sources.relabelled,
    )
    if mount.name in sources.images:
        entry.image.CopyFrom(sources.images[mount.name])
        entry.readonly = True
        entry.image_sub_path = sources.image_paths.get(index, "")
        return entry
    host_path = sources.subpaths.get(index) or sources.paths.get(mount.name)
    if host_path is None:
        raise ConfigError(f'cannot find volume "{mount.name}" to mount into container "{container.name}"')
    entry.host_path = host_path
    return entry


def _recursive(mount: VolumeMount, sources: MountSources) -> bool:
    """Whether the mount is recursively read-only (KEP-3857). Raises ConfigError if it cannot be, or if the runtime does
    not support what is required."""
    wanted, propagation = mount.recursiveReadOnly or "Disabled", mount.mountPropagation or "None"
    if wanted == "Disabled":
        return False
    required = f'volume "{mount.name}" requested recursive read-only mode, but it is not'
    if not mount.readOnly:
        raise _unresolved_mode(f"{required} read-only")
    if propagation != "None":
        raise _unresolved_mode(f'{required} compatible with propagation "{propagation}"')
    if wanted not in ("IfPossible", "Enabled"):
        raise _unresolved_mode(f'unknown recursive read-only mode "{wanted}"')
    if wanted == "Enabled" and not sources.recursive_read_only:
        raise _unresolved_mode(f"{required} supported by the runtime")
    return sources.recursive_read_only


def _unresolved_mode(text: str) -> ConfigError:
    return ConfigError(f"failed to resolve recursive read-only mode: {text}")
