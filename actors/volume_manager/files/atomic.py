"""A directory whose files change all at once (the layout that the kubelet's atomic writer made a convention): the files
are in a directory named by time, `..data` is a link to it, and each name at the top is a link through `..data`.

An object of a mebibyte may have tens of thousands of keys, so the work is done in pieces, with other pods in between.
The caller ensures that nothing else writes to the volume meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from actors.shared.linux.confined_paths import UnsafePathError, clean_relative
from actors.shared.linux.removal import remove_tree
from actors.shared.pacing import pieces
from supervision.errors import told_as

from . import mount_points
from .downward_fields import File

DATA: Final = "..data"
_DIRECTORY_MODE: Final = 0o755
_NEW: Final = "..data_tmp"
_AT_ONCE: Final = 50
"""The number of files that are written before other tasks run: some milliseconds on a slow disk."""
_GROUP_DIRECTORY: Final = 0o2050
"""The mode bits that fsGroup adds to directories of a read-only volume."""
_GROUP_READS: Final = 0o440
"""The mode bits that fsGroup adds to the files of a read-only volume."""


async def write(
    directory: str, files: Iterable[File], stamp: str, group: int | None, mounts: Iterable[str] = ()
) -> bool:
    """Make these the files of the volume at `directory`. Returns whether anything changed.

    `mounts`: the paths in it at which containers mount other volumes; a file of the volume with such a name wins.
    `stamp` names the new directory: `..` and a time, never one used before. Raises OSError, UnsafePathError for a path
    that would leave the volume.
    """
    desired = {"/".join(_check_path(file.path)): file for file in files}
    names = {path.split("/", 1)[0]: file.owner for path, file in desired.items()}
    points = [path for path in mounts if path.split("/", 1)[0] not in names]
    if await _same(directory, desired):
        await _link_names(directory, names)  # an earlier writer may have died before this step
        mount_points.make(directory, points, _mode(group), group)
        return False
    try:
        with told_as(f"{directory}/{stamp}", directory):
            await _fill(f"{directory}/{stamp}", desired, group)
    except OSError:  # each attempt on a full disk would leave another copy
        with suppress(OSError):
            await _remove(directory, stamp)
        raise
    remove_tree(f"{directory}/{_NEW}")
    os.symlink(stamp, f"{directory}/{_NEW}")
    os.rename(f"{directory}/{_NEW}", f"{directory}/{DATA}")
    await _link_names(directory, names)
    mount_points.make(directory, points, _mode(group), group)
    for name in os.listdir(directory):
        if name.startswith("..") and name not in {DATA, stamp}:
            await _remove(directory, name)
    return True


async def _remove(directory: str, name: str) -> None:
    """Raises OSError."""
    path = f"{directory}/{name}"
    if stat.S_ISDIR(os.lstat(path).st_mode):
        async for some in pieces(os.listdir(path), _AT_ONCE):
            for each in some:
                remove_tree(f"{path}/{each}")
    remove_tree(path)


def _check_path(path: str) -> list[str]:
    parts = clean_relative(path)
    if not parts or parts[0].startswith(".."):
        raise UnsafePathError(errno.EINVAL, "is no name for a file of a volume", path)
    if len(parts) > mount_points.MAX_FOLDERS:
        raise mount_points.too_deep(path)
    return parts


async def _same(directory: str, desired: dict[str, File]) -> bool:
    """Whether the volume has exactly these files. Links are not followed, because a privileged container may have made
    them."""
    folders: dict[str, set[str]] = {"": set()}
    for path in desired:
        above, _, name = path.rpartition("/")
        folders.setdefault(above, set()).add(name)
        while above:
            above, _, name = above.rpartition("/")
            folders.setdefault(above, set()).add(name)
    try:
        stamp = os.readlink(f"{directory}/{DATA}")
        if not stamp.startswith("..") or "/" in stamp or not stat.S_ISDIR(os.lstat(f"{directory}/{stamp}").st_mode):
            return False
        current = f"{directory}/{stamp}"
        async for some in pieces(folders.items(), _AT_ONCE):
            if any(set(os.listdir(f"{current}/{folder}")) != names for folder, names in some):
                return False
        async for files in pieces(desired.items(), _AT_ONCE):
            if not all(_has(f"{current}/{path}", file) for path, file in files):
                return False
    except OSError:
        return False
    return True


def _has(path: str, file: File) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        about = os.fstat(fd)
        mode = stat.S_IMODE(about.st_mode)
        if not stat.S_ISREG(about.st_mode) or mode not in {file.mode, file.mode | _GROUP_READS}:
            return False
        return stream.read(len(file.data) + 1) == file.data


async def _fill(directory: str, desired: dict[str, File], group: int | None) -> None:
    _make(directory, group)
    async for some in pieces(desired.items(), _AT_ONCE):
        for path, file in some:
            _create(f"{directory}/{path}", file, group)
    async for folders in pieces(os.walk(directory), _AT_ONCE):
        for top, names, _ in folders:
            for name in names:
                _set_modes(os.path.join(top, name), group)


def _make(directory: str, group: int | None) -> None:
    os.mkdir(directory, _DIRECTORY_MODE)
    _set_modes(directory, group)


def _set_modes(directory: str, group: int | None) -> None:
    """Set the modes of a volume with fsGroup as the kubelet does: the group owns the directory and new files in it."""
    if group is not None:
        os.chown(directory, -1, group)
    os.chmod(directory, _mode(group))


def _mode(group: int | None) -> int:
    return _DIRECTORY_MODE if group is None else _DIRECTORY_MODE | _GROUP_DIRECTORY


def _create(path: str, file: File, group: int | None) -> None:
    os.makedirs(os.path.dirname(path), _DIRECTORY_MODE, exist_ok=True)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as stream:
        stream.write(file.data)
        stream.flush()
        if group is not None or file.owner is not None:
            os.fchown(fd, -1 if file.owner is None else file.owner, -1 if group is None else group)
        os.fchmod(fd, file.mode if group is None else file.mode | _GROUP_READS)


async def _link_names(directory: str, names: Mapping[str, int | None]) -> None:
    """Link each name, and remove the other links. What else is in the volume stays: directories at which containers
    mount volumes, and those of subPaths, which containers have mounted.

    `names`: with the owner of each link.
    """
    async for some in pieces(names.items(), _AT_ONCE):
        for name, owner in some:
            _link(directory, name, owner)
    async for found in pieces(os.listdir(directory), _AT_ONCE):
        for name in found:
            if name not in names and not name.startswith(".."):
                _remove_link(f"{directory}/{name}")


def _remove_link(path: str) -> None:
    if os.path.islink(path):
        os.unlink(path)


def _link(directory: str, name: str, owner: int | None) -> None:
    link = f"{directory}/{name}"
    if not os.path.islink(link) or os.readlink(link) != f"{DATA}/{name}":
        remove_tree(link)
        os.symlink(f"{DATA}/{name}", link)
        if owner is not None:
            os.lchown(link, owner, -1)
