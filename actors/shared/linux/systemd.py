"""Whether systemd runs this host."""

from __future__ import annotations

import os
from typing import Literal

CgroupDriver = Literal["cgroupfs", "systemd"]


def booted(root: str = "") -> bool:
    """Whether systemd is the init system, as sd_booted(3) decides. `root`: the root directory of a fake host."""
    return os.path.isdir(f"{root}/run/systemd/system")


def managed_driver(configured: str, root: str = "") -> CgroupDriver:
    """The cgroup driver of the managed runtime: the configured one, but systemd only if systemd runs. Without systemd,
    runc would refuse every container with that driver, which kubeadm's configuration always names."""
    return "systemd" if configured == "systemd" and booted(root) else "cgroupfs"
