"""The facts about this host that complete and validate a configuration."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.fields.resources import parse_cpu_list
from actors.shared.config.validation.rule_kinds import ValidationContext

RUNTIME_SOCKETS: Final = (
    "/run/containerd/containerd.sock",
    "/var/run/crio/crio.sock",
    "/run/crio/crio.sock",
    "/run/cri-dockerd.sock",
)
"""Where runtimes are looked for when no endpoint is given, in this order."""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    hostname: str
    directory: str
    """Working directory: relative paths on the command line start here."""
    context: ValidationContext = ValidationContext()
    sockets: tuple[str, ...] = ()
    """Those of RUNTIME_SOCKETS that are there."""


def host_facts() -> HostFacts:
    """Those of this host, now."""
    return HostFacts(
        hostname=socket.gethostname(),
        directory=working_directory(),
        context=ValidationContext(
            online_cpus=_online_cpus(), cgroup_v2=Path("/sys/fs/cgroup/cgroup.controllers").exists()
        ),
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
