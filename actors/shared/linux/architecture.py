"""The architecture of this machine, by Go's name for it."""

from __future__ import annotations

import platform
from typing import Final

_NAMES: Final = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i686": "386",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
}
"""Go's names of uname's machines."""


def architecture(machine: str = "") -> str:
    """As in `amd64`; uname's name of a machine that Go does not know. `machine`: uname's; '' for this one."""
    name = machine or platform.machine()
    return _NAMES.get(name, name)
