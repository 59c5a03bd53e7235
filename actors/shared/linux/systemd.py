"""Whether systemd runs this host."""

from __future__ import annotations

import os
from typing import Literal

CgroupDriver = Literal["cgroupfs", "systemd"]


def booted(root: str = "") -> bool:
    """As sd_booted(3) tells it. `root`: of a made-up host."""
    return os.path.isdir(f"{root}/run/systemd/system")


def managed_driver(configured: str, root: str = "") -> CgroupDriver:
    """The cgroup driver of a runtime that the agent runs itself: the configured one. systemd's only where there is a
    systemd to ask: runc refuses each container without one, and kubeadm's configuration names that driver anywhere."""
    return "systemd" if configured == "systemd" and booted(root) else "cgroupfs"
