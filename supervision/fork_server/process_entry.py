"""One name of the tree: its process, if it has one, and what is kept when a process ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from ..blackbox import BlackBox
from ..protocol import Cause, Exited, ServiceState, State, ended_orderly, gave_up
from ..spec import ChildSpec, Policy
from ..status_page import StatusEntry
from .connection import ProcessConnection
from .loop import ScheduledCall


@dataclass(slots=True, eq=False)
class ChildProcess:
    """One process, ordered or forked. Times are CLOCK_MONOTONIC seconds."""

    ordered_at: float = 0.0
    pid: int = 0
    """0: not forked yet."""
    blackbox: BlackBox | None = None
    status_entry: StatusEntry | None = None
    uplink: ProcessConnection | None = None
    cause: Cause | None = None
    """Why the fork server ends the process; None if it does not."""
    detail: str = ""
    stopping_since: float = 0.0
    timers: list[ScheduledCall] = field(default_factory=list)
    memory_bytes: int = 0
    memory_at: float = 0.0


@dataclass(slots=True, frozen=True)
class PastEnds:
    """How the processes of one name have ended."""

    at: float = 0.0
    """When the last one ended; 0: none has."""
    orderly: bool = False
    """Whether that one ended by itself with exit code 0."""
    gave_up: int = 0
    """How many have given up, of a supervisor."""
    gave_up_at: float = 0.0

    def after(self, exited: Exited, now: float) -> PastEnds:
        """With one more end."""
        if gave_up(exited):
            return PastEnds(now, False, self.gave_up + 1, now)
        return PastEnds(now, ended_orderly(exited), self.gave_up, self.gave_up_at)


@dataclass(slots=True, eq=False)
class ProcessEntry:
    """One name. Its fields are read by all parts of the fork server and written by its methods only."""

    name: str
    parent: str
    spec: ChildSpec
    policy: Policy
    is_dynamic: bool = False
    state: State = "down"
    incarnation: int = 0
    process: ChildProcess = field(default_factory=ChildProcess)
    starts_again: bool = False
    """It is ordered again while its old process still exists."""
    past: PastEnds = PastEnds()
    last_incident: tuple[Cause, float] | None = None
    """Cause and time."""
    incident_open: bool = False
    """It is not in service again since its last incident."""
    troubles: dict[str, ServiceState] = field(default_factory=dict)
    """Outside services that it has reported as not answering, by service; its next incarnation withdraws them."""

    # -- its process ----------------------------------------------------------------------------------------------
    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ordered_at(self) -> float:
        return self.process.ordered_at

    @property
    def blackbox(self) -> BlackBox | None:
        return self.process.blackbox

    @property
    def status_entry(self) -> StatusEntry | None:
        return self.process.status_entry

    @property
    def uplink(self) -> ProcessConnection | None:
        return self.process.uplink

    @property
    def cause(self) -> Cause | None:
        return self.process.cause

    @property
    def detail(self) -> str:
        return self.process.detail

    @property
    def kind(self) -> Literal["supervisor", "actor", "program"]:
        if self.spec.program:
            return "program"
        return "supervisor" if self.spec.is_supervisor else "actor"

    @property
    def alive(self) -> bool:
        return self.state != "down"

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and is not started again by its restart type."""
        if self.alive or not self.past.at:
            return False
        return self.policy.restart == "temporary" or (self.policy.restart == "transient" and self.past.orderly)

    @property
    def restarts(self) -> int:
        return max(0, self.incarnation - 1)

    # -- its life -------------------------------------------------------------------------------------------------
    def start_when_ended(self, wanted: bool) -> None:
        """Whether it starts again as soon as its old process has ended."""
        self.starts_again = wanted

    def order(self, now: float) -> None:
        """A new process is ordered."""
        self.starts_again = False
        self.incarnation += 1
        self.state, self.process = "starting", ChildProcess(ordered_at=now)

    def use_blackbox(self, blackbox: BlackBox) -> None:
        self.process.blackbox = blackbox

    def use_status_entry(self, entry: StatusEntry) -> None:
        self.process.status_entry = entry

    def forked(self, pid: int) -> None:
        self.process.pid = pid

    def connected(self, uplink: ProcessConnection) -> None:
        self.process.uplink = uplink

    def in_service(self, now: float) -> float:
        """The process is in service. Returns the seconds since its order."""
        self.state = "running"
        self.cancel_timers()
        return now - self.process.ordered_at

    def asked_to_end(self, cause: Cause, now: float) -> None:
        self.process.cause = cause
        self._stopping(now)

    def killed(self, now: float) -> None:
        self._stopping(now)

    def _stopping(self, now: float) -> None:
        if self.state != "stopping":
            self.state, self.process.stopping_since = "stopping", now

    def record_cause(self, cause: Cause, detail: str) -> None:
        """Why the process ends. The first cause is kept; its detail may come later."""
        process = self.process
        if process.cause is None:
            process.cause, process.detail = cause, detail
        elif process.cause == cause and detail:
            process.detail = detail

    def explain(self, detail: str) -> None:
        """The process says why it ends."""
        self.process.detail = detail

    def down(self) -> None:
        """There is no process any more. Its black box, status entry and uplink are closed already."""
        self.cancel_timers()
        self.state, self.process = "down", ChildProcess()

    def ended(self, exited: Exited, now: float) -> None:
        """The process that is down now has ended, rather than never been forked."""
        self.past = self.past.after(exited, now)

    def add_timer(self, timer: ScheduledCall) -> None:
        """Cancelled when the process is in service, or down."""
        self.process.timers.append(timer)

    def cancel_timers(self) -> None:
        for timer in self.process.timers:
            timer.cancel()
        self.process.timers.clear()

    # -- what is known of it --------------------------------------------------------------------------------------
    def apply_policy(self, policy: Policy) -> None:
        self.policy = policy

    def measured(self, memory_bytes: int, now: float) -> None:
        self.process.memory_bytes, self.process.memory_at = memory_bytes, now

    def service_reported(self, report: ServiceState) -> None:
        """Apply its report about an outside service."""
        before = self.troubles.pop(report.service, None)
        if report.text:
            since = report.since if before is None else min(before.since, report.since)
            self.troubles[report.service] = ServiceState(report.service, report.text, since)

    def incident_opened(self, cause: Cause, now: float) -> None:
        self.last_incident, self.incident_open = (cause, now), True

    def incident_closed(self) -> bool:
        """It is in service. Returns whether that closes an incident."""
        was_open, self.incident_open = self.incident_open, False
        return was_open

    def incident_text(self) -> str:
        """Cause and age of its last incident; '' if there was none."""
        if self.last_incident is None:
            return ""
        cause, at = self.last_incident
        return f"{cause} {_age(int(time.monotonic() - at))} ago"


def _age(seconds: int) -> str:
    """`42s`, `3m7s`, `5h12m`."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{rest}s" if minutes else f"{rest}s"
    return f"{minutes // 60}h{minutes % 60}m"
