"""The fork server's table of the names in the tree."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..blackbox import BlackBox
from ..protocol import Cause, ServiceState, State
from ..spec import ChildSpec, Policy, walk
from ..status_page import StatusEntry
from .connection import ProcessConnection
from .loop import ScheduledCall


@dataclass(slots=True, eq=False)
class ProcessEntry:
    """One name, and its process if it has one. Times are CLOCK_MONOTONIC seconds."""

    name: str
    parent: str
    spec: ChildSpec
    policy: Policy
    is_dynamic: bool = False
    state: State = "down"
    pid: int = 0
    incarnation: int = 0
    ordered_at: float = 0.0
    """When the process was ordered."""
    forked_at: float = 0.0
    in_service_at: float = 0.0
    died_at: float = 0.0
    """When the last incarnation ended; 0: it is replaced, or there was none."""
    status_entry: StatusEntry | None = None
    blackbox: BlackBox | None = None
    uplink: ProcessConnection | None = None
    cause: Cause | None = None
    """Why the fork server ends the process; empty if it does not."""
    detail: str = ""
    wanted: bool = False
    """It is ordered again while its old process still exists."""
    timers: list[ScheduledCall] = field(default_factory=list)
    memory_bytes: int = 0
    memory_at: float = 0.0
    last_cause: Cause | None = None
    last_incident_at: float = 0.0
    incident_open: bool = False
    troubles: dict[str, ServiceState] = field(default_factory=dict)
    """Outside services that it has reported as not answering, by service; its next incarnation withdraws them."""

    def service_reported(self, report: ServiceState) -> None:
        """Apply its report about an outside service."""
        before = self.troubles.pop(report.service, None)
        if report.text:
            since = report.since if before is None else min(before.since, report.since)
            self.troubles[report.service] = ServiceState(report.service, report.text, since)

    @property
    def kind(self) -> Literal["supervisor", "actor", "program"]:
        if self.spec.program:
            return "program"
        return "supervisor" if self.spec.is_supervisor else "actor"

    @property
    def alive(self) -> bool:
        return self.state != "down"

    @property
    def restarts(self) -> int:
        return max(0, self.incarnation - 1)

    def last_incident(self) -> str:
        if self.last_cause is None:
            return ""
        return f"{self.last_cause} {int(time.monotonic() - self.last_incident_at)}s ago"

    def cancel_timers(self) -> None:
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()


class ProcessTable:
    """All names, parents before their children, siblings in start order."""

    def __init__(self, root: ChildSpec, policies: Mapping[str, Policy]) -> None:
        """A name without an entry in `policies` has the default policy of its spec."""
        self._children: dict[str, ProcessEntry] = {}
        self._pids: dict[int, ProcessEntry] = {}
        for name, parent, spec in walk(root):
            self._children[name] = ProcessEntry(name, parent, spec, policies.get(name, spec.default_policy))

    def __iter__(self) -> Iterator[ProcessEntry]:
        return iter(list(self._children.values()))

    def get(self, name: str) -> ProcessEntry | None:
        return self._children.get(name)

    def add(self, child: ProcessEntry) -> None:
        """Add a child without a spec."""
        self._children[child.name] = child

    def discard(self, child: ProcessEntry) -> None:
        self._children.pop(child.name, None)

    def forked(self, child: ProcessEntry) -> None:
        self._pids[child.pid] = child

    def reaped(self, pid: int) -> ProcessEntry | None:
        """Remove the process; return its child."""
        return self._pids.pop(pid, None)

    def fds(self) -> list[int]:
        """The fork server's descriptors of its children."""
        found = []
        for child in self._children.values():
            # a closed one belongs to a process that has ended but is not reaped yet
            if child.uplink is not None and child.uplink.is_open:
                found.append(child.uplink.fileno())
            if child.blackbox is not None:
                found.append(child.blackbox.fd)
        return found

    def below(self, name: str) -> list[ProcessEntry]:
        """All names below that name."""
        found, names = [], {name}
        for child in self._children.values():
            if child.parent in names:
                names.add(child.name)
                found.append(child)
        return found

    def alive(self) -> list[ProcessEntry]:
        return [child for child in self._children.values() if child.alive]
