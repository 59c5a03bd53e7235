"""The facts about this host that complete and validate a configuration."""

from __future__ import annotations

import os
import socket

import msgspec

from actors.shared.config.endpoints import RUNTIME_SOCKETS
from actors.shared.config.validation.rule_kinds import ValidationContext
from actors.shared.linux import kernel_files
from actors.shared.linux.memory import total_memory


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    hostname: str
    directory: str
    """Working directory, the base of relative paths on the command line."""
    context: ValidationContext = ValidationContext()
    sockets: tuple[str, ...] = ()
    """The existing RUNTIME_SOCKETS."""


def host_facts() -> HostFacts:
    """The facts about this host."""
    return HostFacts(
        hostname=socket.gethostname(),
        directory=working_directory(),
        context=ValidationContext(
            online_cpus=kernel_files.listed_cpus(), cgroup_v2=kernel_files.has_cgroup_v2(), memory=_memory()
        ),
        sockets=tuple(path for path in RUNTIME_SOCKETS if os.path.exists(path)),
    )


def _memory() -> int | None:
    try:
        return total_memory()
    except (OSError, KeyError):
        return None


def working_directory() -> str:
    """The working directory of this process; `/` if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
