"""The systemd unit of a running agent, for the command that restarts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from actors.shared.linux.systemd import booted
from supervision.time_scale import scaled

_SECONDS: Final = 2.0


def unit_of(pid: int, root: str = "") -> str:
    """The service whose main process this is; '' if it is none of a service. `root`: the root directory of a fake
    host."""
    if not booted(root):
        return ""
    try:
        lines = Path(f"{root}/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return ""
    named = (os.path.basename(line) for line in lines)
    return next((name for name in dict.fromkeys(named) if name.endswith(".service") and _main_pid(name) == pid), "")


def _main_pid(unit: str) -> int:
    """The main process of a service: what a shell of it has started, as under sshd, is another one. 0: none."""
    command = ["systemctl", "show", "--property=MainPID", "--value", "--", unit]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=scaled(_SECONDS), check=False).stdout
        return int(shown)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return 0
