"""The facts about this machine for the configuration of containers, read once."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path

from actors.shared.linux.memory import read_memory

from .resources import ResourcesHost

_V1_SWAP = "memory.memsw.limit_in_bytes"
_PAGES = "/sys/kernel/mm/hugepages"
_CGROUPS = "/sys/fs/cgroup"
_SELINUX = "/sys/fs/selinux/enforce"
_THROTTLES = "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle"


def this_machine(root: str = "") -> ResourcesHost:
    """`root`: a directory with the files of a test machine."""
    try:
        names = sorted(os.listdir(root + _PAGES))
    except OSError:
        names = []
    sizes = [int(name[10:-2]) for name in names if name.startswith("hugepages-") and name[10:-2].isdigit()]
    memory = read_memory(f"{root}/proc")
    unified = os.path.exists(f"{root}{_CGROUPS}/cgroup.controllers")
    return ResourcesHost(
        memory=memory["MemTotal"],
        page_sizes=tuple(size_name(size) for size in sizes),
        swap=memory.get("SwapTotal", 0),
        cgroup_v2=unified,
        accounts_swap=os.path.exists(_swap_file(root) if unified else f"{root}{_CGROUPS}/memory/{_V1_SWAP}"),
        selinux=os.path.exists(root + _SELINUX),
    )


def _swap_file(root: str) -> str:
    """Read from our own cgroup: the root of cgroup v2 has no such file."""
    for line in Path(f"{root}/proc/self/cgroup").read_text("utf-8").splitlines():
        if line.startswith("0::"):
            return f"{root}{_CGROUPS}{line[3:].rstrip('/')}/memory.swap.max"
    return ""


def size_name(kilobytes: int) -> str:
    """The name of a page size in cgroups. Pure."""
    for unit in ("KB", "MB"):
        if kilobytes < 1024:
            return f"{kilobytes}{unit}"
        kilobytes //= 1024
    return f"{kilobytes}GB"


def thermal_throttles(pattern: str = _THROTTLES) -> list[str]:
    """Files about thermal throttling of the processors, which are masked in containers."""
    return sorted(glob(pattern))
