"""The few facts about this machine that a configuration is judged and completed by."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.fields.resources import parse_cpu_list
from actors.shared.config.validation.rule_kinds import Situation

RUNTIME_SOCKETS: Final = (
    "/run/containerd/containerd.sock",
    "/var/run/crio/crio.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
)
"""Where runtimes are looked for when no endpoint is given, in this order."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    hostname: str
    directory: str
    """Working directory: what relative paths on the command line are meant from."""
    situation: Situation = Situation()
    sockets: tuple[str, ...] = ()
    """Those of RUNTIME_SOCKETS that are there."""


def look_around() -> Surroundings:
    """This machine, now."""
    return Surroundings(
        hostname=socket.gethostname(),
        directory=working_directory(),
        situation=Situation(online_cpus=_online_cpus(), cgroup_v2=Path("/sys/fs/cgroup/cgroup.controllers").exists()),
        sockets=tuple(path for path in RUNTIME_SOCKETS if os.path.exists(path)),
    )


def working_directory() -> str:
    """Of this process; the root when it was removed under it."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def _online_cpus() -> frozenset[int] | None:
    try:
        return parse_cpu_list(Path("/sys/devices/system/cpu/online").read_text())
    except (OSError, ValueError):
        return None
