"""Whether the kernel has AppArmor."""

from __future__ import annotations

APPARMOR_FILE = "/sys/module/apparmor/parameters/enabled"


def read_apparmor(path: str = APPARMOR_FILE) -> bool:
    """Whether AppArmor is enabled in the kernel."""
    try:
        with open(path) as file:
            return file.read(1) == "Y"
    except OSError:
        return False
