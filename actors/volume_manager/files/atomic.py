"""A directory whose files change all at once (the layout that the kubelet's atomic writer made a convention): the files
are in a directory named by time, `..data` is a link to it, and each name at the top is a link through `..data`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import Final

from actors.shared.linux.beneath import UnsafePathError, clean_relative
from actors.shared.linux.removal import remove_tree

from .downward_fields import File

DATA: Final = "..data"
_DIRECTORY_MODE: Final = 0o755
_NEW: Final = "..data_tmp"
_GROUP_READS: Final = 0o440
"""The mode bits that fsGroup adds to the files of a read-only volume."""


def write(directory: str, files: Iterable[File], stamp: str, group: int | None) -> bool:
    """Make the volume at `directory` have exactly these files. Whether anything had to change.

    `stamp` names the new directory: `..` and a time, never one used before. Raises OSError, UnsafePathError for a path
    that would leave the volume.
    """
    desired = {"/".join(_checked(file.path)): file for file in files}
    names = {path.split("/", 1)[0] for path in desired}
    if _same(directory, desired):
        _link_names(directory, names)  # a writer may have died before it did
        return False
    _fill(f"{directory}/{stamp}", desired, group)
    remove_tree(f"{directory}/{_NEW}")
    os.symlink(stamp, f"{directory}/{_NEW}")
    os.rename(f"{directory}/{_NEW}", f"{directory}/{DATA}")
    _link_names(directory, names)
    for name in os.listdir(directory):
        if name.startswith("..") and name not in {DATA, stamp}:
            remove_tree(f"{directory}/{name}")
    return True


def _checked(path: str) -> list[str]:
    parts = clean_relative(path)
    if not parts or parts[0].startswith(".."):
        raise UnsafePathError(errno.EINVAL, "is no name for a file of a volume", path)
    return parts


def _same(directory: str, desired: dict[str, File]) -> bool:
    """Whether the volume has exactly these files. No link is followed: a privileged container may have made it."""
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
        return all(set(os.listdir(f"{current}/{folder}")) == names for folder, names in folders.items()) and all(
            _has(f"{current}/{path}", file) for path, file in desired.items()
        )
    except OSError:
        return False


def _has(path: str, file: File) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as stream:
        about = os.fstat(fd)
        mode = stat.S_IMODE(about.st_mode)
        if not stat.S_ISREG(about.st_mode) or mode not in {file.mode, file.mode | _GROUP_READS}:
            return False
        return stream.read(len(file.data) + 1) == file.data


def _fill(directory: str, desired: dict[str, File], group: int | None) -> None:
    os.mkdir(directory, _DIRECTORY_MODE)
    os.chmod(directory, _DIRECTORY_MODE)
    for path, file in desired.items():
        full = f"{directory}/{path}"
        os.makedirs(os.path.dirname(full), _DIRECTORY_MODE, exist_ok=True)
        fd = os.open(full, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as stream:
            stream.write(file.data)
            stream.flush()
            if group is not None or file.owner is not None:
                os.fchown(fd, -1 if file.owner is None else file.owner, -1 if group is None else group)
            os.fchmod(fd, file.mode if group is None else file.mode | _GROUP_READS)
    for top, names, _ in os.walk(directory):
        for name in names:
            os.chmod(os.path.join(top, name), _DIRECTORY_MODE)


def _link_names(directory: str, names: set[str]) -> None:
    for name in names:
        link = f"{directory}/{name}"
        if not os.path.islink(link) or os.readlink(link) != f"{DATA}/{name}":
            remove_tree(link)
            os.symlink(f"{DATA}/{name}", link)
    for name in os.listdir(directory):
        if not name.startswith("..") and name not in names:
            remove_tree(f"{directory}/{name}")
