"""What iscsi and fc volumes have in common: a network disk, attached and mounted once for all pods of the node,
and bound in the directory of each, or linked there as a device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Final, Self

from actors.api_clients.kube_client.messages import ApiCall
from actors.shared.api.permission import when_permitted
from actors.shared.kube.pod import Pod
from actors.shared.linux.directories import make_path
from actors.shared.linux.presence import is_there
from actors.volume_manager.disks.chap import NO_CHAP, ChapError, ChapWish
from actors.volume_manager.disks.model import Disk
from actors.volume_manager.failure_texts import MAP_BLOCK, SET_UP, WAIT_FOR_ATTACH, WAIT_FOR_DEVICE, MountError
from actors.volume_manager.host.device_links import link_device
from actors.volume_manager.host.directories import DIRECTORY_MODE
from actors.volume_manager.host.unmounts import is_mounted, mounts_below
from actors.volume_manager.tools.staged_disks import kind_of
from actors.volume_manager.tools.system_calls import MOUNT_SECONDS
from actors.volume_manager.tools.volume_tools import VolumeTools
from actors.volume_manager.volume_paths import device_link
from supervision.errors import error_text

from .base import Mounter, PodContext

_FS_TYPE: Final = re.compile(r"[A-Za-z0-9_-]*\Z")
_BIND: Final = "actors.volume_manager.host.local_volumes:bind_volume"
_UNMOUNT: Final = "actors.volume_manager.host.unmounts:unmount_all"


class DiskVolume(Mounter, frozen=True, kw_only=True):
    """A disk, mounted or linked at `path`."""

    plugin: ClassVar[str]
    pod_dir: str
    name: str
    """That of its directory or link."""
    disk: Disk
    chap: ChapWish = NO_CHAP
    fs_type: str = ""
    options: list[str] = []
    group: int | None = None
    """fsGroup; None: owners are not changed."""
    on_root_mismatch: bool = False

    @classmethod
    def of(
        cls,
        context: PodContext,
        disk: Disk,
        *,
        volume: str,
        name: str,
        fs_type: str,
        read_only: bool,
        options: Sequence[str] = (),
        chap: ChapWish = NO_CHAP,
    ) -> Self:
        """`volume`: its name in the pod; `name`: that, or its PersistentVolume's. Raises ValueError."""
        if not _FS_TYPE.match(fs_type):  # it is part of the name of a program
            raise ValueError(f"fsType {fs_type!r} is not the name of a file system")
        plugin_dir = cls.plugin.replace("/", "~")
        return cls(
            volume=volume,
            path=device_link(context.pod_dir, plugin_dir, name) if disk.block else context.path(cls.plugin, name),
            pod_dir=context.pod_dir,
            name=name,
            disk=disk,
            chap=chap,
            fs_type=fs_type,
            options=sorted({*options, *(["ro"] if read_only else [])}),
            group=None if read_only or disk.block else context.fs_group,
            on_root_mismatch=context.on_root_mismatch,
        )

    @property
    def is_device(self) -> bool:
        return self.disk.block

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str | MountError:
        try:
            was_ready = self._was_ready(tools)
            if was_ready and not self.is_device and is_mounted(self.path):
                return ""
            make_path(self.path.rpartition("/")[0] if self.is_device else self.path, DIRECTORY_MODE)
            # a device is looked for again, because its name may be that of another disk after a boot
            node, api = "" if was_ready and self.is_device else tools.attach_controller_of, tools.api
            if (waits := await tools.disks.want(self.pod_dir, self.name, self.disk, api, node)) is not None:
                return waits
            settings = await self._chap_settings(tools) if self.chap else {}
            done = await (self._link(settings, tools) if self.is_device else self._mount(pod, settings, tools))
            if not done:
                tools.disks.uses.note(self.pod_dir, kind_of(self.disk), self.name, self.disk, ready=True)
            return done
        except ChapError as error:
            return MountError(str(error), WAIT_FOR_DEVICE if self.is_device else WAIT_FOR_ATTACH)
        except OSError as error:
            return MountError(error_text(error), MAP_BLOCK if self.is_device else SET_UP)

    def _was_ready(self, tools: VolumeTools) -> bool:
        """Raises OSError."""
        use = tools.disks.uses.of(self.pod_dir, kind_of(self.disk), self.name)
        return use is not None and use.ready and use.place == self.disk.place

    async def _chap_settings(self, tools: VolumeTools) -> dict[str, dict[str, str]]:
        """Raises ChapError."""
        call = ApiCall(method="GET", path=self.chap.path)
        return self.chap.settings(await when_permitted(lambda: tools.api.call(call)))

    async def _link(self, settings: dict[str, dict[str, str]], tools: VolumeTools) -> str | MountError:
        """Raises OSError."""
        device = await tools.disks.attach(self.disk, settings)
        if isinstance(device, MountError):
            return device
        link_device(self.path, device)
        return ""

    async def _mount(self, pod: Pod, settings: dict[str, dict[str, str]], tools: VolumeTools) -> str | MountError:
        """Raises OSError."""
        if error := await tools.disks.mount(self.disk, settings, self.fs_type, self.options):
            return error
        arguments = {
            "source": tools.disks.records.directory(self.disk),
            "target": self.path,
            "options": self.options,
            "seconds": MOUNT_SECONDS - 2.0,
        }
        if error := await tools.calls.run(self.path, _BIND, arguments, str):
            return error
        if self.group is None:
            return ""
        return await tools.fs_group.apply(pod, self.path, self.group, self.on_root_mismatch)


async def tear_down(pod_dir: str, plugin: str, tools: VolumeTools) -> str:
    """Unmount the pod's volumes of the plugin; the disks that no pod uses then are detached afterwards. '' or the
    error's text. Raises OSError."""
    plugin_dir = plugin.replace("/", "~")
    points = mounts_below(f"{pod_dir}/volumes/{plugin_dir}")
    error = await tools.calls.run(pod_dir, _UNMOUNT, {"points": points, "lazy": False}) if points else ""
    if error:
        return error
    used = tools.disks.uses.forget(pod_dir, plugin.rpartition("/")[2])
    if used or points or is_there(device_link(pod_dir, plugin_dir, "")):  # a kubelet has attached it without a note
        tools.disks.release_soon()
    return ""
