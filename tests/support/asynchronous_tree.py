"""A supervisor and the fork server with delays between them: each message, each end of a process and each reaping waits
until it is chosen. No process, no clock of its own."""

from __future__ import annotations

import itertools
import os
import signal
from collections import deque
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from supervision.fork_server import processes
from supervision.fork_server.loop import Call, ScheduledCall
from supervision.fork_server.orders import Orders
from supervision.fork_server.parts import ForkServerParts
from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.process_table import ProcessTable
from supervision.fork_server.processes import ChildProcesses
from supervision.fork_server.reports import Reports
from supervision.process_messages import CreateActor, Exited, Ready, Started, Terminate
from supervision.spec import ChildSpec, PolicySettings, Strategy, walk
from supervision.supervisor.children import ChildPhase, SupervisorState, initial_state, wake_at
from supervision.supervisor.transitions import Create, Event, Finish, Tick, decide
from tests.support.no_disks import no_disks

_POLICY: PolicySettings = {"max_restarts": 100_000, "shutdown_seconds": 5.0, "start_seconds": 10.0}
_TURN_SECONDS = 0.25


class _Loop:
    """The fork server's loop, whose time is set."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._timers: list[tuple[float, ScheduledCall]] = []

    def call_later(self, seconds: float, call: Call) -> ScheduledCall:
        timer = ScheduledCall(call)
        self._timers.append((self.now + seconds, timer))
        return timer

    def run_due(self) -> None:
        due = sorted((one for one in self._timers if one[0] <= self.now), key=lambda one: one[0])
        self._timers = [one for one in self._timers if one[0] > self.now]
        for _, timer in due:
            if timer.call is not None:
                timer.call()


class _Process:
    """A process, and both directions of its uplink."""

    def __init__(self, entry: ProcessEntry) -> None:
        self.name, self.incarnation = entry.name, entry.incarnation
        self.to_it: deque[Any] = deque()
        self.from_it: deque[Any] = deque()
        self.is_ready = self.is_killed = False
        self.status: int | None = None
        """Of its end; None while it runs."""
        self.supervisor: SupervisorState | None = None


class AsynchronousTree:
    """`root` with the children a, b and c. `act` does one thing that may happen next, chosen by `random`."""

    def __init__(self, strategy: Strategy, random: Random, patch: pytest.MonkeyPatch) -> None:
        self._random, self._loop = random, _Loop()
        children = tuple(ChildSpec(name=name, actor="x:A", policy=_POLICY) for name in "abc")
        self._spec = ChildSpec(name="root", policy={**_POLICY, "strategy": strategy}, children=children)
        self._policies = {name: spec.default_policy for name, _, spec in walk(self._spec)}
        self.table = ProcessTable(self._spec, self._policies)
        self.running: dict[int, _Process] = {}
        self.ends: list[Exited] = []
        self.share_of_failed_forks = random.choice([0.0, 0.0, 0.3])
        self._speeds = {what: random.choice([0.3, 4.0]) for what in ("reap", "receive", "send")}
        self._pids = itertools.count(100)
        self._ordered: list[ProcessEntry] = []
        loop, other = self._loop, SimpleNamespace(forget=lambda *_: None, explain=lambda *_: "")
        patch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: loop.now))
        patch.setattr(processes, "is_dying", lambda pid: pid in self.running and self._is_dying(self.running[pid]))
        patch.setattr(os, "kill", self._signal)
        patch.setattr(processes, "Launcher", lambda *_: SimpleNamespace(order=self._order, withdraw=self._withdraw))
        patch.setattr(processes, "ProcessConnection", self._connect)
        context: Any = SimpleNamespace(names=other, status_page=None)
        fork_server: Any = self
        self.processes = ChildProcesses(loop, self.table, context, fork_server, other, no_disks())  # type: ignore[arg-type]
        sink: Any = SimpleNamespace(flush=lambda: None, opened=self.ends.append, closed=lambda *_: None)
        self._reports = Reports(loop, self.table, sink)  # type: ignore[arg-type]
        lifecycle: Any = SimpleNamespace(stopping=False)
        control: Any = None
        self._orders = Orders(ForkServerParts(self.table, self.processes, other, lifecycle, no_disks()), control)  # type: ignore[arg-type]
        self._start_root()

    # -- the fork server: its calls of the operating system, and its events ----------------------------------------
    def _start_root(self) -> None:
        self.processes.start(self._entry("root"))

    def _entry(self, name: str) -> ProcessEntry:
        found = self.table.get(name)
        assert found is not None
        return found

    def _order(self, child: ProcessEntry) -> None:
        self._ordered.append(child)
        self._loop.call_later(0.0, self._fork_all)

    def _withdraw(self, child: ProcessEntry) -> bool:
        was_ordered = child in self._ordered
        self._ordered = [one for one in self._ordered if one is not child]
        return was_ordered

    def _fork_all(self) -> None:
        due, self._ordered = self._ordered, []
        for child in due:
            if self._random.random() < self.share_of_failed_forks:
                self.processes._report_failed_fork(child, OSError(11, "no process left"))
                continue
            pid = next(self._pids)
            self.running[pid] = _Process(child)
            child.process.forked(pid)
            self.processes._take_forked(child, pid)  # type: ignore[arg-type]

    def _connect(self, loop: _Loop, pid: int, received: Any, closed: Any) -> Any:
        process = self.running[pid]

        def receive() -> None:
            message = process.from_it.popleft()
            received(uplink, SimpleNamespace(message=lambda: message, ask=0))

        def drain() -> None:
            while process.from_it:
                receive()

        uplink = SimpleNamespace(send=process.to_it.append, receive=receive, drain=drain, close=lambda: None)
        return uplink

    def _signal(self, pid: int, number: int) -> None:
        self.running[pid].is_killed |= number == signal.SIGKILL  # KeyError: nobody may signal a process that is gone

    @staticmethod
    def _is_dying(process: _Process) -> bool:
        return process.is_killed or process.status is not None

    def received(self, child: ProcessEntry, connection: Any, frame: Any) -> None:
        self._orders.received(child, connection, frame)

    def started(self, child: ProcessEntry, started: Started) -> None:
        self._reports.started(child, started)

    def exited(self, child: ProcessEntry, exited: Exited) -> None:
        self.processes.kill_below(child)
        self._reports.record(child, exited)
        if child.name == "root":
            self._loop.call_later(0.1, self._start_root)
        else:
            self._reports.exited(child, exited)

    # -- what may happen next -------------------------------------------------------------------------------------
    def act(self, *, faults: bool) -> None:
        """`faults`: processes end by themselves, are restarted by others, and everything may be slow."""
        choices: list[tuple[float, Call]] = [(0.5, lambda: self._pass_time(faults))]
        for pid, process in self.running.items():
            choices += self._choices(pid, process, faults)
        weights = [weight for weight, _ in choices]
        self._random.choices([call for _, call in choices], weights)[0]()
        self._loop.run_due()

    def _choices(self, pid: int, process: _Process, faults: bool) -> list[tuple[float, Call]]:
        speed = self._speeds if faults else dict.fromkeys(self._speeds, 4.0)
        found: list[tuple[float, Call]] = []
        if process.from_it:
            found.append((speed["send"], lambda: self._entry(process.name).process.uplink.receive()))  # type: ignore[union-attr]
        if process.status is not None:
            return [*found, (speed["reap"], lambda: self._reap(pid))]
        if process.is_killed:
            return [*found, (speed["reap"], lambda: self._end(process, signal.SIGKILL))]
        if not process.is_ready:
            found.append((2.0, lambda: self._get_ready(process)))
        if process.to_it:
            found.append((speed["receive"], lambda: self._receive(process)))
        if process.supervisor is not None and (wake_at(process.supervisor) or self._loop.now) <= self._loop.now:
            found.append((4.0, lambda: self._decide(process, Tick())))
        if faults:
            found.append((0.15, lambda: self._end(process, self._random.choice([70 << 8, signal.SIGSEGV, 0]))))
            found.append((0.1, lambda: self._restart(process.name)))
        return found

    def _pass_time(self, faults: bool) -> None:
        self._loop.now += self._random.choice([0.001, 0.05, 0.5, 2.0, 5.0, 13.0]) if faults else _TURN_SECONDS

    def _end(self, process: _Process, status: int) -> None:
        process.status = status

    def _reap(self, pid: int) -> None:
        self.processes.reaped(pid, self.running.pop(pid).status or 0)

    def _restart(self, name: str) -> None:
        """As a rolling restart does."""
        child = self._entry(name)
        if name != "root" and child.state in ("starting", "running"):
            self.processes.stop(child, 5.0, "restarting")

    def _get_ready(self, process: _Process) -> None:
        process.is_ready = True
        process.from_it.append(Ready())
        if process.name == "root":
            process.supervisor = initial_state(self._spec, "root", self._policies)
            self._decide(process, Tick())

    def _receive(self, process: _Process) -> None:
        message = process.to_it.popleft()
        if isinstance(message, Terminate):
            self._end(process, 0)
        elif isinstance(message, Started | Exited):
            self._decide(process, message)

    def _decide(self, process: _Process, event: Event) -> None:
        assert process.supervisor is not None
        process.supervisor, orders = decide(process.supervisor, event, self._loop.now, self._random.random)
        for order in orders:
            assert not isinstance(order, Finish)
            process.from_it.append(CreateActor(order.name, "x:A") if isinstance(order, Create) else order)

    # -- what came of it ------------------------------------------------------------------------------------------
    @property
    def agrees(self) -> bool:
        """Every child is in service, its supervisor knows it, and nothing is under way."""
        supervisor = next((one.supervisor for one in self.running.values() if one.supervisor is not None), None)
        quiet = not any(one.to_it or one.from_it or self._is_dying(one) for one in self.running.values())
        in_service = all(child.state == "running" and not child.starts_again for child in self.table)
        known = supervisor is not None and all(one.phase is ChildPhase.RUNNING for one in supervisor.children)
        return quiet and in_service and known
