"""Keeps the incident records that cannot be written, in a second file on another file system, across the end of the
agent: a disk that is full is often the reason for a restart of the machine's services."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ..errors import UNREADABLE
from .incident import Incident, read

log = logging.getLogger(__name__)
MOST_BYTES: Final = 1 << 20
"""A file system in memory holds it."""
SPARE_NAME: Final = "unwritten-incidents.jsonl"


class SpareIncidents:
    """The file. No method raises: the records are in the agent's memory, too. Without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def keep(self, incident: Incident) -> None:
        """Append a record, if the file is not full."""
        if self.path is None:
            return
        line = msgspec.json.encode(incident) + b"\n"
        with suppress(OSError):
            fd = os.open(
                self.path,
                os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW,
                0o600,
            )
            try:
                if os.fstat(fd).st_size + len(line) <= MOST_BYTES:
                    os.write(fd, line)
            finally:
                os.close(fd)

    def kept(self, recorded: Path) -> list[Incident]:
        """The records of the file that `recorded` does not have: an agent that was killed may have written some. A
        later copy of a record, with the time until its actor was back, takes the place of the first."""
        if self.path is None or not self.path.exists():
            return []
        try:
            found = read(self.path).incidents
        except (OSError, *UNREADABLE) as error:
            log.warning("incidents of an earlier agent are lost: %s", error)
            return []
        try:
            written = {incident_id(one) for one in read(recorded).incidents}
        except OSError:
            written = set()
        latest = {incident_id(one): one for one in found}
        return [one for which, one in latest.items() if which not in written]

    def clear(self) -> None:
        """All records are written."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)


def incident_id(incident: Incident) -> tuple[str, str, int, str]:
    """The same in memory and in each file."""
    return incident.time, incident.actor, incident.incarnation, incident.cause
