"""Unmounts below a pod's directory, deepest first, and removes its files; the removal stops at a mount that is left.

Runs in disposable processes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Final

from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.removal import remove_tree
from actors.volume_manager.volume_paths import VOLUME_DIRECTORIES

_ALL: Final = 256
"""The most mounts that one call unmounts, so that its deadline suffices."""


def mounts_below(directory: str) -> list[str]:
    """Mount points at or below the directory, in the order in which they can be unmounted. Does not access them."""
    return [mount.point for mount in mountinfo.read_below(os.path.realpath(directory))]


def is_mounted(path: str) -> bool:
    """Whether something is mounted at the path, by the mount table; does not access the path itself."""
    real = f"{os.path.realpath(os.path.dirname(path))}/{os.path.basename(path)}"
    return bool(mountinfo.at(real))


def unmount_all(points: list[str], lazy: bool) -> None:
    """Unmount each. `lazy`: detach now; the kernel unmounts it after its last use. Raises OSError at the first that
    fails."""
    flags = mount_calls.UMOUNT_NOFOLLOW | (mount_calls.MNT_DETACH if lazy else 0)
    for point in points[:_ALL]:
        try:
            mount_calls.umount(point, flags)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EINVAL:  # no longer a mount point
                raise


def remove_volumes(pod_dir: str, points: Sequence[str] = ()) -> None:
    """Unmount `points`, then remove the files that the volume manager made for the pod, and the pod's directory if it
    is then empty. Raises OSError, MountInsideError when something is still mounted."""
    unmount_all([*points], lazy=False)
    for name in VOLUME_DIRECTORIES:
        remove_tree(f"{pod_dir}/{name}")
    try:
        os.rmdir(pod_dir)
    except OSError:
        pass  # other actors have files there, and remove them


def remove_pod_dir(pod_dir: str) -> None:
    """Remove all of an orphaned pod's directory. Raises as remove_volumes."""
    remove_tree(pod_dir)
