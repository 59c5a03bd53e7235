"""The agent's directories with their modes, in one table; creates the missing ones."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from supervision.errors import error_reason

from . import start_records


class StateDirectory(NamedTuple):
    path: str
    mode: int
    owned: bool = True
    """Whether only the agent uses it; then a wider mode is narrowed."""


def directories(agent: Agent) -> tuple[StateDirectory, ...]:
    """The directories, parents first."""
    return (
        StateDirectory(agent.root_dir, 0o750),
        StateDirectory(agent.pods_dir, 0o750),
        StateDirectory(agent.plugins_dir, 0o750),
        StateDirectory(agent.plugins_registry_dir, 0o750),
        StateDirectory(agent.device_plugins_dir, 0o750),
        StateDirectory(agent.pod_resources_dir, 0o750),
        StateDirectory(agent.checkpoints_dir, 0o700),
        StateDirectory(agent.state_dir, 0o700),
        StateDirectory(agent.cert_dir, 0o700),
        StateDirectory(agent.pod_logs_dir, 0o750, owned=False),
        StateDirectory(agent.container_logs_dir, 0o750, owned=False),
    )


def make(agent: Agent, cgroups: Iterable[str] = ()) -> None:
    """Create missing directories, narrow modes, record the directories. Raises ConfigErrors with every failure, without
    those below a directory that failed.

    `cgroups`: directories of cgroups that this start makes, to be recorded too.
    """
    missing = [directory.path for directory in directories(agent) if not os.path.isdir(directory.path)]
    problems: list[ConfigProblem] = []
    for directory in directories(agent):
        if not any(directory.path.startswith(f"{problem.path}/") for problem in problems):
            problems += _make(directory)
    if problems:
        raise ConfigErrors(problems)
    try:
        start_records.note(agent, missing, cgroups)
    except OSError as error:
        raise ConfigErrors([ConfigProblem(agent.state_dir, "", f"cannot be written: {error_reason(error)}")]) from None


def _make(directory: StateDirectory) -> Iterator[ConfigProblem]:
    new = not os.path.isdir(directory.path)
    try:
        os.makedirs(directory.path, exist_ok=True)
        mode = stat.S_IMODE(os.stat(directory.path).st_mode)
        if new:
            os.chmod(directory.path, directory.mode)
        elif directory.owned and mode & ~directory.mode:
            os.chmod(directory.path, mode & directory.mode)
    except OSError as error:
        yield ConfigProblem(
            directory.path, "", f"this directory cannot be {'made' if new else 'changed'}: {error.strerror}"
        )
