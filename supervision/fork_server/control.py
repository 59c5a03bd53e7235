"""The questions that the command line and every actor may ask the fork server. It answers without asking any actor."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from math import inf

from msgspec.structs import replace

from .. import logs, time_scale
from ..application import Application
from ..faults import LASTING, check
from ..hanging_disks import HANGS, REMEDY
from ..incidents.incident import GetUnwrittenIncidents, UnwrittenIncidents
from ..message import Message
from ..messaging.wire import Frame, WireError
from ..process_messages import ServiceState
from ..protocol import (
    FORK_SERVER,
    ActorState,
    Done,
    GetTree,
    Inject,
    RollingRestart,
    SetLogging,
    Shutdown,
    Tree,
    Trouble,
)
from ..spec import GetPolicies, PoliciesInForce, SetPolicies
from ..supervisor.policy_rules import wrong_policies
from .child_checks import pss
from .connection import ProcessConnection
from .loop import Loop
from .parts import ForkServerParts
from .policies import PolicyOrders
from .process_entry import ProcessEntry

log = logging.getLogger(FORK_SERVER)
_MEMORY_SECONDS = 2.0
_SPACE = "free space on the disk of the file, or make its directory writable: they are written then"


class Control:
    """Answers questions from the table, and carries out an operator's orders."""

    def __init__(
        self,
        application: Application,
        loop: Loop,
        parts: ForkServerParts,
        policies: PolicyOrders,
    ) -> None:
        self._application, self._loop, self._policies = application, loop, policies
        self._table, self._processes = parts.table, parts.processes
        self._disposables, self._lifecycle, self._disks = parts.disposables, parts.lifecycle, parts.disks
        self._started_at = time.monotonic()

    def uptime(self) -> float:
        """How long the fork server runs, in seconds."""
        return time.monotonic() - self._started_at

    def received(self, connection: ProcessConnection, frame: Frame) -> None:
        """Handle a frame from the control socket: only questions are accepted."""
        try:
            answer = self.answer(frame.message())
        except WireError:
            connection.close()
            return
        connection.send(answer or Done(f"{frame.type} cannot be asked here"), frame.ask)

    def answer(self, question: Message) -> Message | None:
        """The answer, or None if it is not a public question."""
        if isinstance(question, GetTree):
            return self.tree(question)
        if isinstance(question, Shutdown):
            self._lifecycle.start_stop()
            return Done()
        if isinstance(question, Inject):
            return Done(self._inject(question))
        if isinstance(question, RollingRestart):
            return Done(self._rolling_restart(question))
        if isinstance(question, GetUnwrittenIncidents):
            return self._application.incidents.unwritten()
        if isinstance(question, GetPolicies):
            return PoliciesInForce(self._policies.in_force)
        if isinstance(question, SetPolicies):
            wrong = wrong_policies(question.policies)
            if wrong:
                log.error("the supervision policy stays as it is: %s", wrong)
            else:
                self._policies.put_in_force(question)
            return Done(wrong)
        if isinstance(question, SetLogging):
            logs.reconfigure(
                verbosity=question.verbosity, form=question.form, vmodule=question.vmodule, split=question.split
            )
            self._tell_all(question)
            return Done()
        return None

    def _tell_all(self, message: Message) -> None:
        for child in self._table:
            if child.process.uplink is not None and child.process.uplink.is_open:
                child.process.uplink.send(message)

    def tree(self, question: GetTree) -> Tree:
        """The state of every name in the tree."""
        return Tree(
            pid=os.getpid(),
            uptime=self.uptime(),
            state=self._lifecycle.state,
            actors=[_actor_state(child, question) for child in self._table],
            disposables=self._disposables.running,
            abandoned=self._disposables.abandoned + self._processes.abandoned,
            troubles=[
                *self._disks.troubles(),
                *(
                    _trouble(child, report)
                    for child in self._table
                    for report in child.current_troubles(time.monotonic())
                ),
                *_of_unwritten(self._application.incidents.unwritten()),
            ],
            log_file=self._application.files.log,
            incident_file=self._application.files.incidents,
            policy_file=self._application.files.policy,
            time_scale=time_scale.factor(),
        )

    def _rolling_restart(self, order: RollingRestart) -> str:
        """Restart the actors and programs. Returns why it is not possible, '' on success. A child that is down or
        stopping starts again anyway."""
        children = {name: self._table.get(name) for name in order.names}
        for child in children.values():
            if child is not None and child.kind != "supervisor" and child.state in ("starting", "running"):
                self._processes.stop(child, child.policy.shutdown_seconds, "restarting")
        return ", ".join(f"there is no actor {name!r}" for name, child in children.items() if child is None)

    def _inject(self, order: Inject) -> str:
        """Inject the fault. Returns why it is not possible, '' on success."""
        if wrong := check(order):
            return wrong
        child = self._table.get(order.name)
        if child is None:
            return f"there is no actor {order.name!r}"
        if not child.process.pid or child.process.is_reaped:
            return f"{order.name} has no process now"
        if order.fault == "crash":
            os.kill(child.process.pid, signal.SIGKILL)
        elif order.fault == "stop":
            self._halt(child, order.seconds)
        elif child.process.uplink is None:
            return f"{order.name} is a program: only crash and stop can be injected"
        else:
            child.process.uplink.send(order)
            if order.fault in LASTING:
                child.process.injected(order.fault, time.monotonic() + (order.seconds or inf))
        return ""

    def _halt(self, child: ProcessEntry, seconds: float) -> None:
        pid = child.process.pid
        os.kill(pid, signal.SIGSTOP)
        resume_timer = self._loop.call_later(seconds, lambda: _resume(child, pid)) if seconds > 0 else None
        child.process.stopped(resume_timer)


def _trouble(child: ProcessEntry, report: ServiceState) -> Trouble:
    return Trouble(report.service, report.text, time.monotonic() - report.since, child.name, report.remedy)


def _of_unwritten(found: UnwrittenIncidents) -> Iterator[Trouble]:
    if found.incidents and found.error:
        text = f"{len(found.incidents)} records wait in memory, as they cannot be written: {found.error}"
        yield Trouble(
            "incidents", text, time.monotonic() - found.since, FORK_SERVER, REMEDY if found.error == HANGS else _SPACE
        )


def _actor_state(child: ProcessEntry, question: GetTree) -> ActorState:
    now, process = time.monotonic(), child.process
    shown = ActorState(
        name=child.name,
        parent=child.parent,
        kind=child.kind,
        state=child.state,
        pid=process.pid,
        incarnation=child.incarnation,
        restarts=child.restarts,
        uptime=child.age(now),
        memory_bytes=_memory(child, now, look=question.memory),
        last_incident=child.last_incident.text(now),
        incident_age=child.last_incident.age(now),
        incidents=child.last_incident.count,
        actor=child.spec.actor or (child.spec.program[0] if child.spec.program else "supervisor"),
        gave_up=child.past.gave_up,
        gave_up_age=now - child.past.gave_up_at if child.past.gave_up else 0.0,
        is_over=child.is_over,
        ended_orderly=child.past.orderly,
        stopping_seconds=now - child.process.stopping_since if child.state == "stopping" else 0.0,
    )
    if process.status_entry is None:
        return shown
    seen = process.status_entry.read()
    return replace(
        shown,
        mailbox=seen.mailbox,
        heartbeat_age=now - max(seen.heartbeat, process.ordered_at),
        message=seen.message if seen.busy_since else "",
        busy_seconds=now - seen.busy_since if seen.busy_since else 0.0,
        handled=seen.handled,
        dropped=seen.dropped,
        dead_letters=seen.dead_letters,
        tasks=seen.tasks,
        outgoing=seen.outgoing,
        injected=process.lasting_faults(now),
    )


def _memory(child: ProcessEntry, now: float, *, look: bool) -> int:
    """Memory figures, at most two seconds old: reading one takes a millisecond, and a scrape asks for all actors."""
    process = child.process
    if look and process.pid and now - process.memory.at > _MEMORY_SECONDS:
        process.measured(pss(process.pid), now)
    return process.memory.used_bytes


def _resume(child: ProcessEntry, pid: int) -> None:
    if child.process.pid == pid:
        os.kill(pid, signal.SIGCONT)
