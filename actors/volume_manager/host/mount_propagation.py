"""Mount propagation of the pods' directory: mounts propagate between the host and containers."""

from __future__ import annotations

import os

from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.confined_paths import path_of


def is_shared(path: str) -> bool:
    """Whether mounts made below this directory propagate."""
    below = mountinfo.mount_at(mountinfo.read(), os.path.realpath(path))
    return below is not None and below.shared


def make_shared(path: str) -> bool:
    """Make the directory a shared mount, so that mounts below it propagate. Returns whether a bind mount was made for
    it.

    Raises OSError (EPERM without CAP_SYS_ADMIN).
    """
    path = os.path.realpath(path)
    table = mountinfo.read()
    on = mountinfo.mount_at(table, path)
    if on is not None and on.shared:
        return False
    made = on is None or on.point != path
    if made:
        _bind_to_itself(path, [mount.point for mount in mountinfo.below(table, path)])
    mount_calls.make_shared(path)
    return made


def is_bound_to_itself(table: list[mountinfo.Mount], path: str) -> bool:
    """Whether the topmost mount at the path is a bind mount of the path itself, as by `make_shared`. Pure."""
    on = mountinfo.mount_at(table, path)
    beneath = None if on is None else next((mount for mount in table if mount.id == on.parent), None)
    if on is None or beneath is None or on.point != path:
        return False
    inside = os.path.relpath(path, beneath.point)
    return on.device == beneath.device and on.root == os.path.normpath(os.path.join(beneath.root, inside))


def remove_bind(path: str) -> None:
    """Undo the bind mount of `make_shared`, if the directory is empty; an administrator's own mount stays. `path`: as
    in the mount table. Raises OSError."""
    if is_bound_to_itself(mountinfo.read(), path) and not os.listdir(path):
        mount_calls.umount(path, mount_calls.UMOUNT_NOFOLLOW)


def _bind_to_itself(path: str, points: list[str]) -> None:
    """Bind mount the directory to itself, with the mounts below it. The original mounts would stay hidden beneath, and
    their directories could never be removed; so they are detached, by file descriptors opened before.
    """
    originals = [os.open(point, os.O_PATH | os.O_CLOEXEC) for point in points]
    try:
        mount_calls.bind(path, path)
        for fd in originals:
            mount_calls.umount(path_of(fd), mount_calls.MNT_DETACH)
    finally:
        for fd in originals:
            os.close(fd)
