"""A process of a name in the tree, from its order to its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ..process.blackbox import BlackBox
from ..process.status_page import StatusEntry
from ..process_messages import Cause
from ..protocol import Fault, LastingFault
from .connection import ProcessConnection
from .loop import ScheduledCall


class MemoryFigure(NamedTuple):
    """The memory of a process, and when it was measured; both 0 before that."""

    used_bytes: int = 0
    at: float = 0.0


@dataclass(slots=True, eq=False)
class ChildProcess:
    """Its fields are written by its methods only. Times are CLOCK_MONOTONIC seconds."""

    ordered_at: float = 0.0
    seconds_to_start: float = 0.0
    """From its order until it was in service; 0.0 before that."""
    pid: int = 0
    """0: not forked yet."""
    blackbox: BlackBox | None = None
    status_entry: StatusEntry | None = None
    uplink: ProcessConnection | None = None
    """None until the fork; always None for a program."""
    is_reaped: bool = False
    """Its PID may be another process's by now."""
    cause: Cause | None = None
    """Why the fork server ends the process; None while it does not."""
    detail: str = ""
    was_stopped: bool = False
    """It was stopped by a signal when the fork server found that it hangs."""
    stopping_since: float = 0.0
    """When it was first asked to end, or killed; 0: it was not."""
    memory: MemoryFigure = field(default_factory=MemoryFigure)
    timers: list[ScheduledCall] = field(default_factory=list)
    resume_timer: ScheduledCall | None = None
    """The timer that ends the injected stop."""
    faults_until: dict[Fault, float] = field(default_factory=dict)
    """When each injected fault that the process keeps ends; inf: with the process."""

    # -- its start ------------------------------------------------------------------------------------------------
    def use_blackbox(self, blackbox: BlackBox) -> None:
        self.blackbox = blackbox

    def use_status_entry(self, entry: StatusEntry) -> None:
        self.status_entry = entry

    def forked(self, pid: int) -> None:
        self.pid = pid

    def connected(self, uplink: ProcessConnection) -> None:
        self.uplink = uplink

    def in_service(self, now: float) -> None:
        self.seconds_to_start = now - self.ordered_at
        self.cancel_timers()

    def measured(self, memory_bytes: int, now: float) -> None:
        self.memory = MemoryFigure(memory_bytes, now)

    def signs_of_life(self) -> tuple[float, float]:
        """When it last sent a heartbeat, and when its current step began; zeros for a program."""
        entry = self.status_entry
        return (0.0, 0.0) if entry is None else (entry.heartbeat, entry.busy_since)

    # -- its end --------------------------------------------------------------------------------------------------
    def reaped(self) -> None:
        self.is_reaped = True

    def record_cause(self, cause: Cause, detail: str = "") -> None:
        """Why the process ends. The first cause is kept; its detail may come later."""
        if self.cause is None:
            self.cause, self.detail = cause, detail
        elif self.cause == cause and detail:
            self.detail = detail

    def found_stopped(self) -> None:
        self.was_stopped = True

    def stopping(self, now: float) -> None:
        self.stopping_since = self.stopping_since or now

    def explain(self, detail: str) -> None:
        """The process reports why it ends."""
        self.detail = detail

    def stopped(self, resume_timer: ScheduledCall | None) -> None:
        """A stop was injected; the timer `resume_timer` ends it. The timer of an earlier stop is cancelled."""
        if self.resume_timer is not None:
            self.resume_timer.cancel()
        self.resume_timer = resume_timer

    def injected(self, fault: Fault, until: float) -> None:
        """A fault that lasts was injected, and takes the place of an earlier one of its kind."""
        self.faults_until[fault] = until

    def lasting_faults(self, now: float) -> list[LastingFault]:
        """The injected faults that have not ended."""
        return [
            LastingFault(fault, None if until == inf else until - now)
            for fault, until in self.faults_until.items()
            if until > now
        ]

    # -- its deadlines --------------------------------------------------------------------------------------------
    def add_timer(self, timer: ScheduledCall) -> None:
        """Cancelled when the process is in service, or down."""
        self.timers.append(timer)

    def cancel_timers(self) -> None:
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()
