"""Starts, stops and reaps the processes of the tree, and records why each ended."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from typing import Final, Protocol

from ..messaging.names import is_dying
from ..messaging.wire import Frame
from ..process_messages import EXIT_EXCEPTION, Cause, Exited, Started, Terminate
from ..protocol import FORK_SERVER
from ..time_scale import scaled
from .connection import ProcessConnection
from .launcher import LaunchContext, Launcher
from .loop import Loop
from .oom_kills import OomKills
from .own_disks import OwnDisks
from .process_entry import ProcessEntry
from .process_table import ProcessTable
from .programs import accepts

log = logging.getLogger(FORK_SERVER)
_READY_POLL_SECONDS = 0.03
_ABANDON_SECONDS = 5.0
_MOST_ABANDONED: Final = 2
"""Processes of one name that SIGKILL did not end, such as those of an actor whose disk hangs. With more of them nothing
would be better, and each takes memory and a PID until the disk answers."""


class ProcessObserver(Protocol):
    """Receives the events of the processes."""

    def received(self, child: ProcessEntry, connection: ProcessConnection, frame: Frame) -> None: ...
    def started(self, child: ProcessEntry, started: Started) -> None: ...
    def exited(self, child: ProcessEntry, exited: Exited) -> None: ...


class ChildProcesses:
    """Acts on the children of the table."""

    def __init__(
        self,
        loop: Loop,
        table: ProcessTable,
        context: LaunchContext,
        observer: ProcessObserver,
        oom_kills: OomKills,
        disks: OwnDisks,
    ) -> None:
        self._loop, self._table, self._observer = loop, table, observer
        self._oom_kills, self._disks = oom_kills, disks
        self._names, self._status_page = context.names, context.status_page
        self._abandoned: dict[int, ProcessEntry] = {}
        self._launcher = Launcher(loop, context, self._take_forked, self._report_failed_fork)

    @property
    def abandoned(self) -> int:
        """Processes that cannot be killed."""
        return len(self._abandoned)

    # -- starting -------------------------------------------------------------------------------------------------
    def start(self, child: ProcessEntry) -> None:
        """Fork the child, after its old process has ended."""
        if child.alive:
            child.start_when_ended(True)
            return
        supervisor = self._table.get(child.parent)
        child.order(time.monotonic(), 0 if supervisor is None else supervisor.incarnation)
        left = sum(other.name == child.name for other in self._abandoned.values())
        if left >= _MOST_ABANDONED:
            self._report_unforked(child, f"{left} of its processes wait in the kernel, and do not end on SIGKILL")
        else:
            self._launcher.order(child)

    def _take_forked(self, child: ProcessEntry, uplink: socket.socket | None) -> None:
        self._table.forked(child)
        self._await_start(child)
        if uplink is not None:
            child.process.connected(
                ProcessConnection(
                    self._loop,
                    uplink,
                    lambda connection, frame: self._observer.received(child, connection, frame),
                    lambda _: None,
                )
            )
        elif child.spec.ready_socket:
            self._poll_ready(child, child.incarnation)
        else:
            child.process.add_timer(self._loop.call_later(0.0, lambda: self.in_service(child)))

    def _poll_ready(self, child: ProcessEntry, incarnation: int) -> None:
        if child.state != "starting" or child.incarnation != incarnation:
            return
        if accepts(child.spec.ready_socket):
            self.in_service(child)
        else:
            again = self._loop.call_later(_READY_POLL_SECONDS, lambda: self._poll_ready(child, incarnation))
            child.process.add_timer(again)

    def _report_failed_fork(self, child: ProcessEntry, error: OSError) -> None:
        self._report_unforked(child, str(error))

    def _report_unforked(self, child: ProcessEntry, why: str) -> None:
        # reported as an immediate end: its supervisor backs off and retries
        self._clean(child)
        exited = Exited(child.name, child.incarnation, 0, EXIT_EXCEPTION << 8, "exit", "", f"fork: {why}")
        self._loop.call_later(0.0, lambda: self._observer.exited(child, exited))

    def in_service(self, child: ProcessEntry) -> None:
        """The child is in service, unless its end is under way."""
        if child.state != "starting" or child.process.cause is not None:
            return
        child.in_service(time.monotonic())
        self.report_started(child)

    def report_started(self, child: ProcessEntry) -> None:
        """Tell the supervisor that the child is in service; again if it does not know."""
        process = child.process
        self._observer.started(child, Started(child.name, child.incarnation, process.pid, process.seconds_to_start))

    def _await_start(self, child: ProcessEntry) -> None:
        """Kill it if it is not in service in time, unless a disk of the agent's own hangs: then it has more time."""
        seconds, process = child.policy.start_seconds, child.process

        def asked(hanging: str) -> None:
            if child.process is not process or child.state != "starting":
                return
            if (hanging and self._disks.hold(child.name, process.pid, hanging)) or self._disks.is_recent(seconds):
                self._await_start(child)
            else:
                self.kill(child, "start_timeout", f"not in service after {seconds:g} s")

        process.add_timer(self._loop.call_later(seconds, lambda: self._disks.ask(asked)))

    # -- ending ---------------------------------------------------------------------------------------------------
    def stop(self, child: ProcessEntry, budget: float, cause: Cause = "stopped") -> None:
        """Ask the child to end and kill it after `budget` seconds; 0: kill it at once. One that is ending already keeps
        its own cause."""
        child.start_when_ended(False)
        if child.process.is_reaped:
            return
        if budget <= 0 or not child.process.pid or (child.state == "starting" and not child.spec.program):
            self.kill(child, cause, "killed at once" if budget <= 0 else "killed while it started")
            return
        if child.process.cause is None and is_dying(child.process.pid):
            child.killed(time.monotonic())
        elif child.process.cause is None:
            child.terminating(cause, time.monotonic())
            self._ask_to_end(child, budget)
        late = f"killed: it did not end within {budget:g} s"
        child.process.add_timer(self._loop.call_later(budget, lambda: self.kill(child, cause, late)))

    def _ask_to_end(self, child: ProcessEntry, budget: float) -> None:
        if child.process.uplink is not None:
            child.process.uplink.send(Terminate(budget))
        else:
            os.kill(child.process.pid, signal.SIGTERM)

    def kill(self, child: ProcessEntry, cause: Cause, detail: str) -> None:
        """Send SIGKILL now. The first recorded cause is kept; a dying process has its own."""
        if not child.alive or child.process.is_reaped:
            return
        if child.process.cause is not None or not is_dying(child.process.pid):
            child.process.record_cause(cause, detail)
        if self._launcher.withdraw(child):
            self._report_end(child, signal.SIGKILL)
        if not child.process.pid:
            return
        child.killed(time.monotonic())
        os.kill(child.process.pid, signal.SIGKILL)
        child.process.add_timer(self._loop.call_later(scaled(_ABANDON_SECONDS), lambda: self._abandon(child)))

    def _abandon(self, child: ProcessEntry) -> None:
        """SIGKILL does not end a process that waits in the kernel: the tree continues without it."""
        if child.alive and self._table.reaped(child.process.pid) is child:
            self._abandoned[child.process.pid] = child
            self._report_end(child, signal.SIGKILL, "cannot be killed: it waits in the kernel, abandoned")

    def kill_below(self, child: ProcessEntry) -> None:
        """A supervisor has ended: end everything below it."""
        for other in self._table.below(child.name):
            other.start_when_ended(False)
            if other.is_dynamic:  # Thespian's children are asked to exit
                self.stop(other, other.policy.shutdown_seconds, "parent")
            else:
                self.kill(other, "parent", "")

    def kill_everything(self) -> None:
        for child in self._table.alive():
            self.kill(child, "fork_server", "")

    # -- reaping --------------------------------------------------------------------------------------------------
    def reaped(self, pid: int, status: int, most_memory: int = 0) -> None:
        """Handle the end of a process that is not disposable. `most_memory`: bytes that it had at most."""
        if self._abandoned.pop(pid, None) is not None:
            return
        child = self._table.reaped(pid)
        if child is not None:
            child.process.reaped()
            self._report_end(child, status, most_memory=most_memory)

    def _report_end(self, child: ProcessEntry, status: int, detail: str = "", most_memory: int = 0) -> None:
        now, process = time.monotonic(), child.process
        if process.uplink is not None:
            process.uplink.drain()
        message, text = process.blackbox.exception() if process.blackbox is not None else ("", "")
        killed_by_others = process.cause is None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if process.cause is None and os.WIFSIGNALED(status):
            # killed from outside, and not by what it had recorded
            text = self._oom_kills.explain(process.pid, now) if killed_by_others else ""
        growth_decides = process.cause == "memory" or process.was_stopped or killed_by_others
        if process.status_entry is not None and not message:
            reading = process.status_entry.read()
            message = reading.message if reading.busy_since else ""
        exited = Exited(
            child.name,
            child.incarnation,
            process.pid,
            status,
            process.cause or _cause_of(status),
            message,
            detail or process.detail or text,
            now - process.ordered_at,
            most_memory if growth_decides else 0,
        )
        self._clean(child)
        child.ended(exited, now)
        self._observer.exited(child, exited)
        if child.starts_again:
            self.start(child)

    def _clean(self, child: ProcessEntry) -> None:
        if not child.spec.program:
            try:
                self._names.forget(child.name, child.incarnation)
            except OSError as error:  # the next incarnation takes the name anyway, or reports why it cannot
                log.error("the sockets of %s stay: %s", child.name, error)
        process = child.process
        if process.uplink is not None:
            process.uplink.close()
        if process.status_entry is not None:
            self._status_page.give_back(process.status_entry)
        if process.blackbox is not None:
            process.blackbox.close()
        child.down()


def _cause_of(status: int) -> Cause:
    if os.WIFSIGNALED(status):
        return "signal"
    return "exception" if os.WEXITSTATUS(status) == EXIT_EXCEPTION else "exit"
