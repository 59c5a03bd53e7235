"""systemCgroups: the host's processes that are in no cgroup, which is in the root one, are put into a cgroup of theirs.

As the reference does: never PID 1, and no kernel thread. Runs in a disposable process: to move a process the kernel may
wait for its others.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from actors.shared.linux.cgroup_tree import CgroupError, CgroupTree, find

PASSES: Final = 10
"""Processes fork while they are moved: it is looked again, so often at most."""


def gather_host(cgroup: str, host: str) -> list[str]:
    """On the host whose root directory this is. What could not be moved, and why. Raises OSError."""
    return gather(find(host), cgroup, f"{host}/proc")


def gather(tree: CgroupTree, cgroup: str, proc: str = "/proc") -> list[str]:
    """Move them. What could not be moved at the last look, and why. Raises CgroupError when it cannot be made."""
    tree.create(cgroup)
    errors: list[str] = []
    for _ in range(PASSES):
        pids = [pid for pid in sorted(tree.in_root()) if pid > 1 and _has_program(pid, proc)]
        errors = [error for error in (_move(tree, cgroup, pid) for pid in pids) if error]
        if not pids or len(errors) == len(pids):
            break
    return errors


def _move(tree: CgroupTree, cgroup: str, pid: int) -> str:
    try:
        tree.enter_from_root(cgroup, pid)
    except CgroupError as error:
        return "" if error.errno == errno.ESRCH else f"process {pid}: {error.strerror}"  # else it has ended
    return ""


def _has_program(pid: int, proc: str) -> bool:
    """A kernel thread has none; nor has a process that has ended."""
    try:
        os.readlink(f"{proc}/{pid}/exe")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
