"""Incident records: their fields, and the bounded file of JSON lines that holds them (written by incident_file.py).

Unreadable lines (after a loss of power) are skipped and counted."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ..errors import UNREADABLE
from ..message import Message, Question
from ..process_messages import FOUND, Cause, Exited
from ..state_file import read_private

MAX_DETAIL = 16 * 1024


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of an incarnation of an actor. It has no message body, which may hold secrets."""

    time: str
    """When its process was reaped: RFC 3339, UTC."""
    actor: str
    incarnation: int
    pid: int
    cause: Cause
    exit_code: int | None = None
    signal: str = ""
    """`SIGKILL`, when a signal ended it."""
    message: str = ""
    """Type of the current message, '' for none."""
    detail: str = ""
    """Traceback, stacks of a hang, or memory figures; only the end if it is long."""
    uptime_seconds: float = 0.0
    restart_seconds: float | None = None
    """From the fault until the replacement was in service; None: not yet, or never."""

    @property
    def summary(self) -> str:
        """The cause in one short line."""
        how = self.signal or (f"code {self.exit_code}" if self.exit_code is not None else "")
        if self.cause == "exception" and self.detail:
            return f"exception: {self.detail.strip().splitlines()[-1]}"
        if self.cause in FOUND and self.detail:
            return f"{self.cause}: {self.detail.splitlines()[0]}"
        return " ".join(part for part in (self.cause, how, self.detail.partition("\n")[0]) if part)


class GetUnwrittenIncidents(Question["UnwrittenIncidents"], frozen=True):
    """Asks the fork server for the records that are not written yet."""


class UnwrittenIncidents(Message, frozen=True):
    """Oldest first; empty when all are written."""

    incidents: list[Incident] = []
    error: str = ""
    """Why the last try to write failed."""
    since: float = 0.0
    """CLOCK_MONOTONIC of the first try that failed."""


def incident_of(exited: Exited, now: float) -> Incident:
    """The record of an exit; `now` is seconds since the epoch."""
    signaled = os.WIFSIGNALED(exited.status)
    return Incident(
        time=datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        actor=exited.name,
        incarnation=exited.incarnation,
        pid=exited.pid,
        cause=exited.cause,
        exit_code=os.WEXITSTATUS(exited.status) if os.WIFEXITED(exited.status) else None,
        signal=_signal_name(os.WTERMSIG(exited.status)) if signaled else "",
        message=exited.message,
        detail=exited.detail[-MAX_DETAIL:],
        uptime_seconds=round(exited.uptime, 3),
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def older(path: Path) -> Path:
    """The path of the records before those in `path`."""
    return path.with_name(path.name + ".1")


class IncidentHistory(msgspec.Struct, frozen=True):
    """The records of a file, oldest first."""

    incidents: list[Incident]
    damaged: int = 0
    """Lines that could not be read."""


def read(path: Path) -> IncidentHistory:
    """The records of the file and of its predecessor. A missing file has none. Raises OSError."""
    decoder = msgspec.json.Decoder(Incident)
    found: list[Incident] = []
    damaged = 0
    for file in (older(path), path):
        try:
            lines = read_private(file).splitlines()
        except FileNotFoundError:
            continue
        for line in lines:
            try:
                found.append(decoder.decode(line))
            except UNREADABLE:
                damaged += bool(line.strip())
    return IncidentHistory(found, damaged)
