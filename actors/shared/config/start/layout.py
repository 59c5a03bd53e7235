"""The agent's directories with their modes, in one table; creates the missing ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, Problem

from . import places


class Directory(NamedTuple):
    path: str
    mode: int
    ours: bool = True
    """Whether only the agent uses it; then a wider mode is narrowed."""


def directories(agent: Agent) -> tuple[Directory, ...]:
    """The directories, parents first."""
    return (
        Directory(agent.root_dir, 0o750),
        Directory(agent.pods_dir, 0o750),
        Directory(agent.plugins_dir, 0o750),
        Directory(agent.plugins_registry_dir, 0o750),
        Directory(agent.device_plugins_dir, 0o750),
        Directory(agent.pod_resources_dir, 0o750),
        Directory(agent.checkpoints_dir, 0o700),
        Directory(agent.state_dir, 0o700),
        Directory(agent.cert_dir, 0o700),
        Directory(agent.pod_logs_dir, 0o750, ours=False),
        Directory(agent.container_logs_dir, 0o750, ours=False),
    )


def make(agent: Agent) -> None:
    """Create missing directories, narrow modes, note where they are. Raises ConfigErrors with every failure."""
    missing = [directory.path for directory in directories(agent) if not os.path.isdir(directory.path)]
    problems = [problem for directory in directories(agent) for problem in _make(directory)]
    if problems:
        raise ConfigErrors(problems)
    try:
        places.note(agent, missing)
    except OSError as error:
        raise ConfigErrors([Problem(agent.state_dir, "", f"cannot be written: {error.strerror}")]) from None


def _make(directory: Directory) -> Iterator[Problem]:
    try:
        new = not os.path.isdir(directory.path)
        os.makedirs(directory.path, exist_ok=True)
        mode = stat.S_IMODE(os.stat(directory.path).st_mode)
        if new:
            os.chmod(directory.path, directory.mode)
        elif directory.ours and mode & ~directory.mode:
            os.chmod(directory.path, mode & directory.mode)
    except OSError as error:
        yield Problem(directory.path, "", f"this directory cannot be made: {error.strerror}")
