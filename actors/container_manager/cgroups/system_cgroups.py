"""systemCgroups: moves the host's processes that are in the root cgroup into a cgroup of their own.

As in the kubelet, PID 1 and kernel threads stay. Runs in a disposable process: the kernel may block while it moves a
process.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_tree import CgroupTree, find

PASSES: Final = 10
"""How often the processes that are left are listed again, because processes fork while they are moved."""


def gather_host(cgroup: str, host: str) -> list[str]:
    """`host`: the root directory of the host. Returns what could not be moved, and why. Raises OSError."""
    return gather(find(host), cgroup, f"{host}/proc")


def gather(tree: CgroupTree, cgroup: str, proc: str = "/proc") -> list[str]:
    """Move the processes. Returns what could not be moved, and why. Raises CgroupError: the cgroup cannot be made."""
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
        return "" if error.errno == errno.ESRCH else f"process {pid}: {error.strerror}"  # ESRCH: it has ended
    return ""


def _has_program(pid: int, proc: str) -> bool:
    """Whether the process has an executable; kernel threads and ended processes have none."""
    try:
        os.readlink(f"{proc}/{pid}/exe")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
