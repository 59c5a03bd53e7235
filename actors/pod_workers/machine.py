"""What of this machine goes into the configurations of containers: read once."""

from __future__ import annotations

import os
from glob import glob

from actors.linux.memory import total_memory

from .resources import Machine

_PAGES = "/sys/kernel/mm/hugepages"
_THROTTLES = "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle"


def this_machine(pages: str = _PAGES) -> Machine:
    try:
        names = sorted(os.listdir(pages))
    except OSError:
        names = []
    sizes = [int(name[10:-2]) for name in names if name.startswith("hugepages-") and name[10:-2].isdigit()]
    return Machine(memory=total_memory(), page_sizes=tuple(size_name(size) for size in sizes))


def size_name(kilobytes: int) -> str:
    """As cgroups name page sizes. Pure."""
    for unit in ("KB", "MB"):
        if kilobytes < 1024:
            return f"{kilobytes}{unit}"
        kilobytes //= 1024
    return f"{kilobytes}GB"


def thermal_throttles(pattern: str = _THROTTLES) -> list[str]:
    """What of the processors' heat is hidden from containers."""
    return sorted(glob(pattern))
