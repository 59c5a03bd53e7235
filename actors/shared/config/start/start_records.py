"""The directories, endpoints and cgroup root of each start, in a file: `supervise reset` finds them without the agent,
also after a change of its configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from supervision.state_file import DamagedError, StateFile

FILE: Final = "places.json"
_KEPT: Final = 16
"""The distinct earlier starts, the newest last."""


class StartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where one start keeps what. Paths are absolute and clean."""

    root_dir: str
    run_dir: str
    runtime_endpoint: str
    """`unix:///...`; with a managed runtime the endpoint of the agent's containerd."""
    managed_root: str = ""
    """Directory of the managed containerd; '' with another runtime."""
    managed_state: str = ""
    cgroup_root: str = "/"
    pod_logs_dir: str
    container_logs_dir: str
    cert_dir: str
    made: tuple[str, ...] = ()
    """Directories, and those of cgroups, that were not there before."""


def of(agent: Agent, made: Iterable[str] = ()) -> StartRecord:
    """The record of a start with this configuration. Pure."""
    managed = agent.managed_runtime
    return StartRecord(
        root_dir=agent.root_dir,
        run_dir=agent.run_dir,
        runtime_endpoint=agent.runtime_endpoint,
        managed_root=agent.managed_runtime_dir if managed else "",
        managed_state=agent.managed_state_dir if managed else "",
        cgroup_root=agent.cgroup_root,
        pod_logs_dir=agent.pod_logs_dir,
        container_logs_dir=agent.container_logs_dir,
        cert_dir=agent.cert_dir,
        made=tuple(made),
    )


def with_start(known: list[StartRecord], now: StartRecord) -> list[StartRecord]:
    """The known records with that of this start, each once, the newest last. What an earlier start made stays made."""
    made = {path for one in known for path in one.made} | set(now.made)
    bare = [msgspec.structs.replace(one, made=()) for one in known]
    current = msgspec.structs.replace(now, made=())
    others = [one for one in dict.fromkeys(bare) if one != current]
    return [*others[1 - _KEPT :], msgspec.structs.replace(current, made=tuple(sorted(made)))]


def note(agent: Agent, made: Iterable[str]) -> None:
    """Write down this start. `made`: directories that it made. Raises OSError."""
    file = _file(agent.state_dir)
    try:
        known = file.load() or []
    except DamagedError:
        known = []
    new = with_start(known, of(agent, made))
    if new != known:
        file.save(new)


def noted(state_dir: str) -> list[StartRecord]:
    """The records of all starts, the newest last; none if there was no start. Raises OSError, DamagedError."""
    if not os.path.isdir(state_dir):
        return []
    return _file(state_dir).load() or []


def _file(state_dir: str) -> StateFile[list[StartRecord]]:
    return StateFile(Path(state_dir, FILE), list[StartRecord])
