"""What the next incarnation of the controller, and each actor that starts, must know of the configuration in force.

The file is of one run of the agent; the next run reads the sources.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.sources.effective import from_json, to_json
from supervision.errors import UNREADABLE
from supervision.state_file import write_private

SESSION_FILE: Final = "session"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    boot: str
    """The run of the agent it belongs to."""
    running: msgspec.Raw
    """The effective configuration, JSON."""
    to_restart: tuple[str, ...] = ()
    """Actors of the rolling restart that the fork server has not accepted yet."""

    def configuration(self) -> KubeletConfiguration:
        return from_json(bytes(self.running))


def boot() -> str:
    """A name for this run of the agent: the process that all actors are children of, with its start time."""
    parent = os.getppid()
    try:
        started = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        started = ""
    return f"{parent}-{started}"


def recall(path: Path | str) -> Session | None:
    """The session of this run; None when there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return _read(file.read())
    except (OSError, ConfigErrors, *UNREADABLE):
        return None


def _read(data: bytes) -> Session | None:
    session = msgspec.json.decode(data, type=Session)
    if session.boot != boot():
        return None
    session.configuration()
    return session


def refreshed(agent: Agent) -> Agent:
    """The agent with the configuration of now, for an actor that begins. Never raises."""
    known = recall(f"{agent.config_checkpoint_dir}/{SESSION_FILE}")
    return agent if known is None else agent.with_configuration(known.configuration())


def prepare() -> None:
    """Read a session as each actor does when it begins. For the fork server, so that what this takes is shared."""
    running = msgspec.Raw(to_json(KubeletConfiguration()))
    _read(msgspec.json.encode(Session(boot=boot(), running=running)))
    recall(os.devnull)


def remember(path: Path, running: KubeletConfiguration, to_restart: tuple[str, ...] = ()) -> None:
    """Replace the session. Without it, the next incarnation reads the sources again."""
    session = Session(boot=boot(), running=msgspec.Raw(to_json(running)), to_restart=to_restart)
    with suppress(OSError):
        write_private(path, msgspec.json.encode(session), sync=False)
