"""Volume mounts of a container, as the runtime is asked for them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kube.container import Container, VolumeMount
from actors.kube.pod import Pod
from proto import cri_pb2 as cri

from .errors import ConfigError
from .expansion import expand

_PROPAGATION = {
    None: cri.PROPAGATION_PRIVATE,
    "": cri.PROPAGATION_PRIVATE,
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where the volumes are."""

    paths: Mapping[str, str]
    """Host path by volume."""
    subpaths: Mapping[int, str] = {}
    """Host path by place in volumeMounts."""
    images: Mapping[str, str] = {}
    """Image by volume that is one."""
    recursive_read_only: bool = False
    """The runtime can make what is mounted below a mount read-only, too."""


def expanded_subpath(pod_name: str, mount: VolumeMount, environment: dict[str, str]) -> str:
    """The sub path of a volume mount, expanded; '' for none. Raises ConfigError for one that leaves the volume."""
    path = expand(mount.subPathExpr, environment) if mount.subPathExpr else mount.subPath
    if path.startswith("/") or ".." in path.split("/") or (mount.subPathExpr and "$(" in path):
        raise ConfigError(f"subPath of {pod_name}: {path!r} must be relative, without '..', every variable known")
    return path


def image_volumes(pod: Pod, container: Container) -> dict[str, str]:
    """The images that the container mounts as volumes, by volume."""
    mounted = {mount.name for mount in container.volumeMounts}
    return {
        volume.name: volume.image.reference
        for volume in pod.spec.volumes
        if volume.image is not None and volume.name in mounted
    }


def volume_mounts(container: Container, sources: Sources) -> list[cri.Mount]:
    """Raises ConfigError."""
    return [_mount(index, mount, sources) for index, mount in enumerate(container.volumeMounts)]


def _mount(index: int, mount: VolumeMount, sources: Sources) -> cri.Mount:
    made = cri.Mount(
        container_path=mount.mountPath if mount.mountPath.startswith("/") else f"/{mount.mountPath}",
        readonly=mount.readOnly,
        recursive_read_only=_recursive(mount, sources),
        propagation=_PROPAGATION.get(mount.mountPropagation, cri.PROPAGATION_PRIVATE),
    )
    if mount.name in sources.images:
        made.image.image, made.image_sub_path, made.readonly = sources.images[mount.name], mount.subPath, True
        return made
    host_path = sources.subpaths.get(index) or sources.paths.get(mount.name)
    if host_path is None:
        raise ConfigError(f'volumeMount "{mount.name}": no such volume')
    made.host_path = host_path
    return made


def _recursive(mount: VolumeMount, sources: Sources) -> bool:
    """KEP-3857. Raises ConfigError where it is insisted on and cannot be."""
    wanted = mount.recursiveReadOnly or "Disabled"
    if wanted == "Disabled":
        return False
    alone = mount.mountPropagation in (None, "", "None")
    if wanted == "IfPossible":
        return sources.recursive_read_only and mount.readOnly and alone
    if wanted != "Enabled":
        raise ConfigError(f'volumeMount "{mount.name}": unknown recursiveReadOnly {wanted!r}')
    if not (mount.readOnly and alone):
        text = "recursiveReadOnly Enabled needs readOnly, and no mountPropagation"
        raise ConfigError(f'volumeMount "{mount.name}": {text}')
    if not sources.recursive_read_only:
        raise ConfigError(
            f'volume "{mount.name}" requested recursive read-only mode, but it is not supported by the runtime'
        )
    return True
