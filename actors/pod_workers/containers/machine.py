"""The facts about this machine for the configuration of containers, read once."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path

from actors.shared.kube.huge_pages import page_size
from actors.shared.linux import kernel_files
from actors.shared.linux.huge_page_pools import SYSTEM_POOLS, page_sizes, resource_of
from actors.shared.linux.kernel_files import CGROUPS
from actors.shared.linux.memory import read_memory

from .resources import ResourcesHost

_V1_SWAP = "memory.memsw.limit_in_bytes"
_THROTTLES = "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle"


def this_machine(root: str = "") -> ResourcesHost:
    """`root`: a directory with the files of a test machine."""
    memory = read_memory(f"{root}/proc")
    unified = kernel_files.has_cgroup_v2(root)
    return ResourcesHost(
        memory=memory["MemTotal"],
        page_sizes=_limited_page_sizes(root, unified=unified),
        swap=memory.get("SwapTotal", 0),
        cgroup_v2=unified,
        accounts_swap=os.path.exists(_swap_file(root) if unified else f"{root}{CGROUPS}/memory/{_V1_SWAP}"),
        selinux=kernel_files.has_selinux(root),
    )


def _limited_page_sizes(root: str, *, unified: bool) -> tuple[str, ...]:
    """The kernel's names of the sizes of huge pages; none where it cannot limit them, because runc refuses a container
    with a limit that it cannot set."""
    cgroups = Path(f"{root}{CGROUPS}")
    if unified:
        limits = "hugetlb" in (cgroups / "cgroup.controllers").read_text("ascii").split()
    else:
        limits = (cgroups / "hugetlb").exists()
    return tuple(page_size(resource_of(size)) for size in page_sizes(root + SYSTEM_POOLS)) if limits else ()


def _swap_file(root: str) -> str:
    """Read from our own cgroup: the root of cgroup v2 has no such file."""
    for line in Path(f"{root}/proc/self/cgroup").read_text("utf-8").splitlines():
        if line.startswith("0::"):
            return f"{root}{CGROUPS}{line[3:].rstrip('/')}/memory.swap.max"
    return ""


def thermal_throttles(pattern: str = _THROTTLES) -> list[str]:
    """Files about thermal throttling of the processors, which are masked in containers."""
    return sorted(glob(pattern))
