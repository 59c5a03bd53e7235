"""A name of the tree: its state, its process if it has one, and the facts that outlive a process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..process_messages import Cause, Exited, ServiceState
from ..protocol import State
from ..spec import ChildSpec, Policy
from .child_process import ChildProcess
from .history import ExitHistory, LastIncident, ServiceTroubles


@dataclass(slots=True, eq=False)
class ProcessEntry:
    """A name. Its fields are read by all parts of the fork server and written by its methods only."""

    name: str
    parent: str
    spec: ChildSpec
    policy: Policy
    is_dynamic: bool = False
    state: State = "down"
    incarnation: int = 0
    process: ChildProcess = field(default_factory=ChildProcess)
    ordered_by: int = 0
    """The incarnation of its supervisor that ordered its process; 0 for the root."""
    starts_again: bool = False
    """It is ordered again while its old process still exists."""
    past: ExitHistory = field(default_factory=ExitHistory)
    last_incident: LastIncident = field(default_factory=LastIncident)
    troubles: ServiceTroubles = field(default_factory=ServiceTroubles)

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

    def age(self, now: float) -> float:
        """Seconds since its process was ordered; 0.0 if it has none."""
        return now - self.process.ordered_at if self.alive else 0.0

    def reported(self, report: ServiceState, now: float) -> None:
        """Its process has reported the state of a service."""
        self.troubles.reported(report, self.incarnation, self.age(now))

    def current_troubles(self, now: float) -> list[ServiceState]:
        return self.troubles.current(self.incarnation, self.age(now))

    def apply_policy(self, policy: Policy) -> None:
        self.policy = policy

    # -- its state ------------------------------------------------------------------------------------------------
    def start_when_ended(self, wanted: bool) -> None:
        """Whether it starts again as soon as its old process has ended."""
        self.starts_again = wanted

    def order(self, now: float, supervisor: int) -> None:
        """A new process is ordered by this incarnation of its supervisor."""
        self.starts_again, self.ordered_by = False, supervisor
        self.incarnation += 1
        self.state, self.process = "starting", ChildProcess(ordered_at=now)

    def in_service(self, now: float) -> None:
        """The process is in service."""
        self.state = "running"
        self.process.in_service(now)

    def terminating(self, cause: Cause, now: float) -> None:
        self.process.record_cause(cause)
        self.killed(now)

    def killed(self, now: float) -> None:
        self.state = "stopping"
        self.process.stopping(now)

    def down(self) -> None:
        """The process is gone. Its black box, status entry and uplink are closed already."""
        self.process.cancel_timers()
        self.state, self.process = "down", ChildProcess()

    def ended(self, exited: Exited, now: float) -> None:
        """The process that is down now has ended, rather than never been forked."""
        self.past = self.past.after(exited, now, supervisor=self.kind == "supervisor")
