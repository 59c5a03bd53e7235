"""The commands that start, stop and show the services of this host, for the remedies that users type: of systemd, of
OpenRC, of a System V script, or by hand where there is none of these, as in a container."""

from __future__ import annotations

import os
from typing import Final, Literal

from .systemd import booted

Order = Literal["start", "restart", "status", "stop"]
_OPENRC: Final = "run/openrc"
"""Exists while OpenRC runs the host."""
_SCRIPTS: Final = "etc/init.d"


def ordered(unit: str, order: Order, program: str = "", root: str = "") -> str:
    """The command that gives this order to a service. `program`: what it runs, where that has another name than the
    unit; `root`: the root directory of a fake host."""
    program = program or unit
    if booted(root):
        return f"systemctl {order} {unit}"
    if os.path.isdir(f"{root}/{_OPENRC}"):
        return f"rc-service {unit} {order}"
    if os.path.exists(f"{root}/{_SCRIPTS}/{unit}"):
        return f"service {unit} {order}"
    start = f"setsid {program} >>{_log(program)} 2>&1 &"
    by_hand: dict[Order, str] = {
        "start": start,
        "restart": f"kill its process, then {start}",
        "status": f"ps -C {program}",
        "stop": "kill its process",
    }
    return by_hand[order]


def log_of(unit: str, program: str = "", root: str = "") -> str:
    """The command that shows the log of a service. Without systemd it shows the usual log file."""
    return f"journalctl -u {unit}" if booted(root) else f"tail {_log(program or unit)}"


def set_clock(root: str = "") -> str:
    """The command that sets the clock of the host."""
    return f"{'timedatectl set-ntp true' if booted(root) else 'date --utc --set=TIME'}, or chronyc makestep"


def _log(program: str) -> str:
    return f"/var/log/{program}.log"
