"""emptyDir: a directory on disk, a tmpfs, or huge pages."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.huge_pages import PREFIX, is_huge_pages
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_requests
from actors.shared.kube.quantity import QuantityError, quantity_value
from actors.shared.kube.volumes import EmptyDirVolumeSource, Volume
from actors.volume_manager.failure_texts import MountError
from actors.volume_manager.host.directories import make_directory
from actors.volume_manager.persistent_volumes.volume_claims import UnusableVolume
from actors.volume_manager.tools.volume_tools import VolumeTools
from supervision.errors import error_text

from .base import Mounter, PendingVolume, Plan, PodContext, RejectedVolume, VolumeType
from .memory_size import containers_of, smallest

PLUGIN: Final = "kubernetes.io/empty-dir"
MODE: Final = 0o777
HUGE_PAGES: Final = "HugePages"
_MOUNT_HUGE_PAGES: Final = "actors.volume_manager.host.memory_mounts:mount_huge_pages"


class EmptyDir(Mounter, frozen=True, kw_only=True):
    """An emptyDir on disk."""

    plugin: ClassVar[str] = PLUGIN
    group: int | None = None

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        # no disposable process: if this file system hangs, the agent hangs anyway
        try:
            make_directory(self.path, MODE, self.group)
        except OSError as error:
            return error_text(error)
        return ""


class MemoryEmptyDir(Mounter, frozen=True, kw_only=True):
    """A tmpfs."""

    plugin: ClassVar[str] = PLUGIN
    group: int | None = None
    size: int
    """Bytes; 0: no limit."""

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        return tools.memory.mount(self.path, self.size, self.group)


class HugePagesEmptyDir(Mounter, frozen=True, kw_only=True):
    """A hugetlbfs."""

    plugin: ClassVar[str] = PLUGIN
    group: int | None = None
    page_size: int
    """Bytes."""

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        arguments = {"path": self.path, "page_size": self.page_size, "group": self.group}
        return await tools.calls.run(self.path, _MOUNT_HUGE_PAGES, arguments)


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name, path = volume.emptyDir or EmptyDirVolumeSource(), volume.name, context.path(PLUGIN, volume.name)
    if source.medium == "":
        return EmptyDir(volume=name, path=path, group=context.fs_group)
    if source.medium == "Memory":
        limit = quantity_value(source.sizeLimit) if source.sizeLimit is not None else 0
        return MemoryEmptyDir(volume=name, path=path, group=context.fs_group, size=smallest(context, limit))
    if source.medium == HUGE_PAGES or source.medium.startswith(HUGE_PAGES + "-"):
        return _plan_huge_pages(name, source.medium, path, context)
    return RejectedVolume(name, f"volume {name!r}: unknown storage medium {source.medium!r}")


def _plan_huge_pages(name: str, medium: str, path: str, context: PodContext) -> Plan:
    """The size is the medium's, which a container or the pod must request, else the only one of the requests."""
    requested = _huge_page_sizes(context)
    _, _, given = medium.partition("-")
    sizes = requested & {_size(given)} if given else requested
    if not sizes:
        text = f"medium {medium}: hugePages storage requested, but there is no resource request for huge pages"
        return _unusable(name, text)
    if len(sizes) > 1:
        return _unusable(name, f"medium: {medium} can't be used if container requests multiple huge page sizes")
    return HugePagesEmptyDir(volume=name, path=path, group=context.fs_group, page_size=sizes.pop())


def _huge_page_sizes(context: PodContext) -> set[int]:
    """The sizes, in bytes, of the huge pages that the pod requests."""
    names = {name for container in containers_of(context.pod) for name in container_requests(container)}
    whole_pod = context.pod.spec.resources
    if whole_pod is not None:
        names |= whole_pod.limits.keys() | whole_pod.requests.keys()
    return {_size(name.removeprefix(PREFIX)) for name in names if is_huge_pages(name)} - {0}


def _size(text: str) -> int:
    """Bytes of a page size, 0 of what is none."""
    try:
        return quantity_value(text)
    except QuantityError:
        return 0


def _unusable(name: str, text: str) -> PendingVolume:
    """The kubelet's error of a volume of huge pages."""
    return PendingVolume(name, text, UnusableVolume(name, MountError(text)))


def _in_memory(volume: Volume) -> bool:
    return volume.emptyDir is not None and volume.emptyDir.medium == "Memory"


TYPE: Final = VolumeType(source="emptyDir", plan=_plan, in_memory=_in_memory)
