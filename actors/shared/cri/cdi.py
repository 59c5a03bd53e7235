"""Whether a runtime ignores CDI names (Container Device Interface), which CRI does not report. Pure. containerd reports
it in the `info` of a verbose Status: from 1.7 on its configuration (JSON) has `enableCDI`. Older versions have no CDI.
For other runtimes it is unknown; CRI-O always supports CDI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .model import RuntimeVersion

_CONTAINERD: Final = "containerd"
_FIRST: Final = (1, 7)
"""The first version with CDI; off by default until 2.0."""


def ignores_cdi(version: RuntimeVersion, info: Mapping[str, str]) -> bool:
    """Whether it is known to start containers without the devices that only CDI names. `info`: of a verbose Status."""
    found = re.match(r"v?([0-9]{1,9})\.([0-9]{1,9})", version.version)
    if version.name != _CONTAINERD or found is None:
        return False
    numbers = (int(found[1]), int(found[2]))
    if numbers < _FIRST:
        return True
    try:
        enabled = msgspec.json.decode(info.get("config", "{}"), type=dict[str, Any]).get("enableCDI")
    except UNREADABLE:
        return False
    return enabled is False or (enabled is None and "config" in info and numbers < (2, 0))
