"""Incidents as JSON lines, for tests of the fork server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from supervision.incidents.incident import UnwrittenIncidents
from supervision.process_messages import Exited, Started


class IncidentFile:
    """Appends each event to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def guard(self, guard: Callable[[Callable[[str], None]], None]) -> None: ...

    def opened(self, exited: Exited) -> None:
        self._append({"event": "opened", **msgspec.to_builtins(exited)})

    def closed(self, started: Started, seconds: float) -> None:
        self._append({"event": "closed", "name": started.name, "incarnation": started.incarnation, "seconds": seconds})

    def flush(self) -> None: ...

    def end(self) -> None: ...

    def unwritten(self) -> UnwrittenIncidents:
        return UnwrittenIncidents()

    def _append(self, record: dict[str, object]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def incidents(path: Path, event: str = "opened") -> list[dict[str, Any]]:
    """Those of one kind, oldest first."""
    if not path.exists():
        return []
    return [record for line in path.read_text().splitlines() if (record := json.loads(line))["event"] == event]
