"""Mount points in a volume of files: a container mounts another volume below it.

The runtime cannot make them, because containers have volumes of files read-only.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Collection
from typing import Final

from actors.shared.kube.pod import Pod
from actors.shared.linux.confined_paths import UnsafePathError, make_directories, path_of
from supervision.errors import told_as

MAX_FOLDERS: Final = 64
"""The most directories in one path of a volume of files. A path with thousands would delay the volumes of other
pods."""


def nested(pod: Pod, volume: str) -> list[str]:
    """The paths in the volume at which containers mount other volumes, without paths below another such path. Pure.

    A path that the volume's own files may have (`..data`) is left out.
    """
    found: dict[str, None] = {}
    for container in (*pod.spec.initContainers, *pod.spec.containers, *pod.spec.ephemeralContainers):
        paths = sorted({posixpath.normpath(mount.mountPath).strip("/") for mount in container.volumeMounts})
        for own in (one for one in container.volumeMounts if one.name == volume):
            found |= dict.fromkeys(_below(posixpath.normpath(own.mountPath).strip("/"), paths))
    return [path for path in found if not path.startswith("..")]


def _below(top: str, paths: list[str]) -> list[str]:
    below: list[str] = []
    for path in (each.removeprefix(f"{top}/") for each in paths if each.startswith(f"{top}/")):
        if not any(path.startswith(f"{one}/") for one in below):
            below.append(path)
    return below


def make(directory: str, paths: Collection[str], mode: int, group: int | None) -> None:
    """Make the directories at these paths of the volume; those that are there stay. Raises OSError, UnsafePathError."""
    if not paths:
        return
    root = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for path in paths:
            parts = path.split("/")
            if len(parts) > MAX_FOLDERS:
                raise too_deep(path)
            for count in range(1, len(parts) + 1):
                _make(root, "/".join(parts[:count]), mode, group)
    finally:
        os.close(root)


def too_deep(path: str) -> UnsafePathError:
    return UnsafePathError(errno.ENAMETOOLONG, f"has more than {MAX_FOLDERS} folders", f"{path[:100]}...")


def _make(root: int, path: str, mode: int, group: int | None) -> None:
    fd = make_directories(root, path, mode)
    try:
        if group is not None and os.fstat(fd).st_gid != group:
            with told_as(path_of(fd), path):
                os.chown(path_of(fd), -1, group)
                os.chmod(path_of(fd), mode)  # a change of the group may have cleared the bit for it
    finally:
        os.close(fd)
