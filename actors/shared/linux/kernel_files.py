"""Facts that the kernel shows in one file each: the boot, the online CPUs, SELinux, the version of the cgroups.

`root`: the directory with the files, of a test machine for example.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .cpu_list import parse_cpu_list

CGROUPS: Final = "/sys/fs/cgroup"


def boot_id(root: str = "") -> str:
    """The ID of this boot of the host; '' if it cannot be read."""
    try:
        return Path(f"{root}/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def online_cpus(root: str = "") -> frozenset[int]:
    """All online CPUs, also those that this process may not use. Raises OSError, ValueError."""
    return parse_cpu_list(Path(f"{root}/sys/devices/system/cpu/online").read_text("ascii"))


def listed_cpus(root: str = "") -> frozenset[int] | None:
    """The online CPUs; None if they cannot be read."""
    try:
        return online_cpus(root)
    except (OSError, ValueError):
        return None


def has_selinux(root: str = "") -> bool:
    """Whether SELinux is enabled, enforcing or permissive."""
    return os.path.exists(f"{root}/sys/fs/selinux/enforce")


def has_cgroup_v2(root: str = "") -> bool:
    """Whether the host has cgroup v2 alone; a hybrid one counts as v1."""
    return os.path.exists(f"{root}{CGROUPS}/cgroup.controllers")
