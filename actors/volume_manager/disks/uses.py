"""Which pod uses which disk: a file in the pod's directory, made before the disk is attached, and removed when the pod
does not use it any more. Calls block, but only on the agent's own file system."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from actors.shared.linux.directories import names_in
from actors.volume_manager.volume_paths import PLUGINS
from supervision.errors import UNREADABLE
from supervision.state_file import NotAFileError, read_private, write_private

from .model import FC, ISCSI, Disk


class DiskUse(msgspec.Struct, frozen=True, kw_only=True):
    place: str
    unique: str
    ready: bool = False
    """Whether the volume was mounted for the pod with all that belongs to it, as its fsGroup."""


class DiskUses:
    def __init__(self, pods_dir: str) -> None:
        self._pods_dir = pods_dir

    def note(self, pod_dir: str, plugin: str, volume: str, disk: Disk, *, ready: bool = False) -> None:
        """Raises OSError."""
        use = DiskUse(place=disk.place, unique=disk.unique, ready=ready)
        path = f"{_folder(pod_dir, plugin)}/{volume}"
        if self.of(pod_dir, plugin, volume) != use:
            os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
            write_private(path, msgspec.json.encode(use))

    def of(self, pod_dir: str, plugin: str, volume: str) -> DiskUse | None:
        """None: there is none, or it is damaged. Raises OSError when that cannot be seen."""
        try:
            return msgspec.json.decode(read_private(f"{_folder(pod_dir, plugin)}/{volume}"), type=DiskUse)
        except (FileNotFoundError, NotADirectoryError, NotAFileError, *UNREADABLE):
            return None

    def forget(self, pod_dir: str, plugin: str) -> bool:
        """The pod uses no disk of this plugin any more. Returns whether it used one. Raises OSError."""
        folder = _folder(pod_dir, plugin)
        names = names_in(folder)
        for name in names:
            os.unlink(f"{folder}/{name}")
        return bool(names)

    def all(self) -> Iterator[DiskUse]:
        """Raises OSError when that cannot be seen."""
        for uid in names_in(self._pods_dir):
            for plugin in (ISCSI, FC):
                for name in names_in(_folder(f"{self._pods_dir}/{uid}", plugin)):
                    if (use := self.of(f"{self._pods_dir}/{uid}", plugin, name)) is not None:
                        yield use


def _folder(pod_dir: str, plugin: str) -> str:
    return f"{pod_dir}/{PLUGINS}/kubernetes.io~{plugin}"
