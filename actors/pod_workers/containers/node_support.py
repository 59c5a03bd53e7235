"""Unsupported features of a pod, and whether the kernel has AppArmor."""

from __future__ import annotations

from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers

APPARMOR_FILE = "/sys/module/apparmor/parameters/enabled"


def unsupported_by_agent(pod: Pod) -> str:
    """The pod's first unsupported feature, which must not be ignored silently; '' for none."""
    for container in all_containers(pod):
        if container.volumeDevices:
            return f"container {container.name}: block volumes (volumeDevices) are not supported yet"
    return ""


def read_apparmor(path: str = APPARMOR_FILE) -> bool:
    """Whether AppArmor is enabled in the kernel."""
    try:
        with open(path) as file:
            return file.read(1) == "Y"
    except OSError:
        return False
