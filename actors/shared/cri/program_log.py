"""What the log of a managed containerd says: why its CRI plug-in was not loaded, and its last line."""

from __future__ import annotations

import os
import re
from typing import Final

LOG_BYTES: Final = 64 << 10
"""How much of the end of the log is read."""
LINE_SIZE: Final = 300
"""Characters of a line."""
NOT_LOADED: Final = "its CRI plug-in is not loaded"
_PLUGIN_FAILED: Final = re.compile(
    rb'failed to load plugin[^\n]*io\.containerd\.(?:grpc\.v1\.cri|cri\.v1\.\w+)[^\n]* error="((?:[^"\\\n]|\\.)*)"'
)
"""containerd goes on without the plug-in, and answers no CRI call."""


def plugin_failure(log_file: str) -> str:
    """Why the CRI plug-in failed at the last start; '': not known. '' is also the log of a runtime that is not
    managed."""
    found = _PLUGIN_FAILED.findall(_end(log_file))
    return found[-1].decode(errors="replace").replace('\\"', '"') if found else ""


def without_cri(log_file: str) -> str:
    """The cause for a containerd that answers, but not to CRI calls."""
    why = plugin_failure(log_file)
    return f"{NOT_LOADED}: {why}" if why else NOT_LOADED


def last_line(log_file: str) -> str:
    """The last line that is not empty, cut; '': there is none."""
    lines = _end(log_file).decode(errors="replace").split("\n")
    return next((line.strip()[:LINE_SIZE] for line in reversed(lines) if line.strip()), "")


def _end(log_file: str) -> bytes:
    if not log_file:
        return b""
    try:
        with open(log_file, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - LOG_BYTES))
            return log.read()
    except OSError:
        return b""
