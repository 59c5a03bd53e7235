"""Removes everything that was found. Idempotent: the next run finds what could not be removed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from actors.container_runtime import cleanup, processes
from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.removal import remove_tree
from actors.shared.linux.systemd import booted
from supervision.time_scale import scaled

from . import runtime_pods
from .cgroups import cgroups, emptied_cgroups, own_cgroups
from .host_resources import emptied_directories, files, mounts, sockets
from .runtime_pods import RuntimePod
from .scope import Scope

_SYSTEMCTL_SECONDS = 30


def remove(scope: Scope, pods: Sequence[RuntimePod], *, alone: bool) -> list[str]:
    """Remove pods first and files last: while a pod remains, so do its files, which identify it as ours. Returns the
    errors.

    `alone`: no other node agent runs here, so empty cgroups that agents have in common go, too.
    """
    wrong = runtime_pods.remove(pods)
    if wrong:
        return wrong
    groups = cgroups(scope)
    for instance in [] if scope.keep_pods else scope.instances:
        wrong += [f"{one} is still there" for one in cleanup.purge(instance, groups)]
    _stop_slices(groups)
    wrong += [f"cgroup {one} is in use" for one in processes.remove_cgroups(groups)]
    _remove_empty(emptied_cgroups(scope) if alone else own_cgroups(scope))
    wrong += _unmount(scope)
    if wrong:
        return wrong
    for path in (*sockets(scope), *files(scope)):
        wrong += _delete(path)
    for directory in emptied_directories(scope):
        with suppress(OSError):
            os.rmdir(directory)
    return wrong


def _unmount(scope: Scope) -> list[str]:
    for mount in mounts(scope):
        with suppress(OSError):  # reported below
            mount_calls.umount(mount.point, mount_calls.MNT_DETACH | mount_calls.UMOUNT_NOFOLLOW)
    return [f"{mount.point} is still mounted" for mount in mounts(scope)]


def _delete(path: str) -> list[str]:
    """Never crosses a mount. Returns the errors."""
    if not os.path.lexists(path):
        return []
    if inside := mountinfo.below(mountinfo.read(), os.path.realpath(path)):
        return [f"{path} stays: {inside[0].point} is mounted there"]
    try:
        remove_tree(path)
    except OSError as error:
        return [f"{error.filename or path} cannot be removed: {error.strerror}"]
    return []


def _remove_empty(groups: Sequence[str]) -> None:
    for group in groups:
        for hierarchy in processes.hierarchies():
            with suppress(OSError):  # in use by others, or missing
                os.rmdir(f"{hierarchy}/{group}")


def _stop_slices(groups: set[str]) -> None:
    """systemd would recreate the cgroup of a slice that it considers active."""
    slices = [os.path.basename(group) for group in groups if group.endswith(".slice")]
    if slices and booted():
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["systemctl", "stop", *slices], capture_output=True, timeout=scaled(_SYSTEMCTL_SECONDS), check=False
            )
