"""What the next incarnation of the controller must know, but not the next run of the agent: what was told to whom."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from actors.config.effective import from_json, to_json
from actors.config.errors import ConfigErrors
from actors.config.kubelet_configuration import KubeletConfiguration


class Session(msgspec.Struct, frozen=True, kw_only=True):
    boot: str
    """The run of the agent it belongs to."""
    running: msgspec.Raw
    """The effective configuration, JSON."""
    listeners: tuple[str, ...]
    """Actors that take changes while they run."""

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


def recall(path: Path) -> Session | None:
    """The session of this run; None when there is none that can be read."""
    try:
        session = msgspec.json.decode(path.read_bytes(), type=Session)
        session.configuration()
    except (OSError, msgspec.DecodeError, ConfigErrors):
        return None
    return session if session.boot == boot() else None


def remember(path: Path, running: KubeletConfiguration, listeners: set[str]) -> None:
    """Replace the session. One that cannot be written is done without: the controller then knows no listeners."""
    session = Session(boot=boot(), running=msgspec.Raw(to_json(running)), listeners=tuple(sorted(listeners)))
    temporary = path.with_suffix(".new")
    with suppress(OSError):
        temporary.write_bytes(msgspec.json.encode(session))
        temporary.replace(path)
