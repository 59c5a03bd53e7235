"""Mount propagation of the pods' directory: mounts below it reach containers, and those of containers the host."""

from __future__ import annotations

import os

from actors.shared.linux import mountinfo, mounting
from actors.shared.linux.beneath import path_of


def is_shared(path: str) -> bool:
    """Whether mounts made below this directory propagate."""
    below = mountinfo.covering(mountinfo.read(), os.path.realpath(path))
    return below is not None and below.shared


def make_shared(path: str) -> bool:
    """Let mounts below this directory propagate to whoever shares its mount. Whether a bind mount was made for it.

    Raises OSError (EPERM without CAP_SYS_ADMIN).
    """
    path = os.path.realpath(path)
    table = mountinfo.read()
    on = mountinfo.covering(table, path)
    if on is not None and on.shared:
        return False
    made = on is None or on.point != path
    if made:
        _bind_to_itself(path, [mount.point for mount in mountinfo.below(table, path)])
    mounting.make_shared(path)
    return made


def _bind_to_itself(path: str, points: list[str]) -> None:
    """With what is mounted below. The originals, which would lie hidden beneath and keep their directories from being
    removed for ever, are detached: only by a file descriptor opened before can they still be named."""
    originals = [os.open(point, os.O_PATH | os.O_CLOEXEC) for point in points]
    try:
        mounting.bind(path, path)
        for fd in originals:
            mounting.umount(path_of(fd), mounting.MNT_DETACH)
    finally:
        for fd in originals:
            os.close(fd)
