"""The session file: the configuration in force, for the next incarnation of the controller and for actors that start.

It is valid for one run of the agent; the next run reads the sources.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.sources.effective import from_json, to_json
from supervision import process_stat
from supervision.errors import UNREADABLE
from supervision.state_file import read_private, write_private

SESSION_FILE: Final = "session"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    boot: str
    """The run of the agent that wrote it."""
    running: msgspec.Raw
    """The effective configuration, JSON."""
    to_restart: tuple[str, ...] = ()
    """Actors of the rolling restart that the fork server has not accepted yet."""

    def configuration(self) -> KubeletConfiguration:
        return from_json(bytes(self.running))


def boot() -> str:
    """The name of this run of the agent: PID and start time of the fork server."""
    parent = os.getppid()
    return f"{parent}-{process_stat.start_ticks(parent)}"


def load(path: Path | str) -> Session | None:
    """The session of this run of the agent; None when it has no readable one."""
    try:
        return _read(read_private(path))
    except (OSError, ConfigErrors, *UNREADABLE):
        return None


def _read(data: bytes) -> Session | None:
    session = msgspec.json.decode(data, type=Session)
    if session.boot != boot():
        return None
    session.configuration()
    return session


def refreshed(agent: Agent) -> Agent:
    """The agent with the configuration in force, for an actor that starts. Never raises."""
    session = load(f"{agent.config_checkpoint_dir}/{SESSION_FILE}")
    return agent if session is None else agent.with_configuration(session.configuration())


def prepare() -> None:
    """Read a session once in the fork server, so that all actors share the memory that this takes."""
    running = msgspec.Raw(to_json(KubeletConfiguration()))
    _read(msgspec.json.encode(Session(boot=boot(), running=running)))
    load(os.devnull)


def save(path: Path, running: KubeletConfiguration, to_restart: tuple[str, ...] = ()) -> None:
    """Replace the session. Raises OSError."""
    session = Session(boot=boot(), running=msgspec.Raw(to_json(running)), to_restart=to_restart)
    write_private(path, msgspec.json.encode(session), sync=False)
