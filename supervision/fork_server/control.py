"""What may be asked of the fork server, by the command line or by an actor, and answered from what it knows by
itself."""

from __future__ import annotations

import os
import signal
import time
from typing import Protocol

from msgspec.structs import replace

from .. import faults, logs
from ..faults import check
from ..message import Message
from ..protocol import ActorState, Done, GetTree, Inject, Renew, SetLogging, Shutdown, Tree
from ..spec import SetPolicies
from .disposables import Disposables
from .loop import Loop
from .processes import Processes
from .shutdown import is_whole
from .table import Child, Table
from .watch import pss

_MEMORY_SECONDS = 2.0


class Ruled(Protocol):
    """The fork server, as far as it can be asked for something."""

    loop: Loop
    disposables: Disposables
    processes: Processes
    table: Table
    began_at: float
    stopping: bool
    whole_once: bool
    log_file: str
    incident_file: str
    policy_file: str

    def begin_stop(self, code: int = 0) -> None: ...
    def set_policies(self, order: SetPolicies) -> None: ...


def answer(fork_server: Ruled, question: Message) -> Message | None:
    """The answer, or None when the question is not one that everybody may ask."""
    if isinstance(question, GetTree):
        return _tree(fork_server, question)
    if isinstance(question, Shutdown):
        fork_server.begin_stop()
        return Done()
    if isinstance(question, Inject):
        return Done(_inject(fork_server, question))
    if isinstance(question, Renew):
        return Done(_renew(fork_server, question))
    if isinstance(question, SetPolicies):
        fork_server.set_policies(question)
        return Done()
    if isinstance(question, SetLogging):
        logs.reconfigure(
            verbosity=question.verbosity, form=question.form, vmodule=question.vmodule, split=question.split
        )
        _tell_all(fork_server, question)
        return Done()
    return None


def _tell_all(fork_server: Ruled, message: Message) -> None:
    for child in fork_server.table:
        if child.uplink is not None and child.uplink.is_open:
            child.uplink.send(message)


def _tree(fork_server: Ruled, question: GetTree) -> Tree:
    if fork_server.stopping:
        state = "stopping"
    elif not fork_server.whole_once:
        state = "starting"
    else:
        state = "ready" if is_whole(fork_server.table) else "degraded"
    return Tree(
        pid=os.getpid(),
        uptime=time.monotonic() - fork_server.began_at,
        state=state,  # type: ignore[arg-type]
        actors=[_actor_state(child, question) for child in fork_server.table],
        disposables=fork_server.disposables.running,
        abandoned=fork_server.disposables.abandoned + fork_server.processes.abandoned,
        log_file=fork_server.log_file,
        incident_file=fork_server.incident_file,
        policy_file=fork_server.policy_file,
    )


def _actor_state(child: Child, question: GetTree) -> ActorState:
    now = time.monotonic()
    shown = ActorState(
        name=child.name,
        parent=child.parent,
        kind=child.kind,
        state=child.state,
        pid=child.pid,
        incarnation=child.incarnation,
        restarts=child.restarts,
        uptime=now - child.forked_at if child.alive else 0.0,
        memory_bytes=_memory(child, now, look=question.memory),
        last_incident=child.last_incident(),
        actor=child.spec.actor or (child.spec.program[0] if child.spec.program else "supervisor"),
    )
    if child.status_entry is None:
        return shown
    seen = child.status_entry.read()
    return replace(
        shown,
        mailbox=seen.mailbox,
        heartbeat_age=now - max(seen.heartbeat, child.forked_at),
        message=seen.message if seen.busy_since else "",
        busy_seconds=now - seen.busy_since if seen.busy_since else 0.0,
        handled=seen.handled,
        dropped=seen.dropped,
        dead_letters=seen.dead_letters,
        tasks=seen.tasks,
        outgoing=seen.outgoing,
    )


def _memory(child: Child, now: float, *, look: bool) -> int:
    """Two seconds old at most: the system takes a millisecond to tell it, and whoever scrapes asks for all actors."""
    if look and child.pid and now - child.memory_at > _MEMORY_SECONDS:
        child.memory_bytes, child.memory_at = pss(child.pid), now
    return child.memory_bytes if child.pid else 0


def _renew(fork_server: Ruled, order: Renew) -> str:
    """What cannot be renewed, '' for nothing. One that is down, or about to be, begins anew in any case."""
    children = {name: fork_server.table.get(name) for name in order.names}
    for child in children.values():
        if child is not None and child.kind == "actor" and child.state in ("starting", "running"):
            fork_server.processes.stop(child, child.policy.shutdown_seconds, "renewed")
    return ", ".join(f"there is no actor {name!r}" for name, child in children.items() if child is None)


def _inject(fork_server: Ruled, order: Inject) -> str:
    """Why it cannot be done, '' when it is."""
    if wrong := check(order):
        return wrong
    child = fork_server.table.get(order.name)
    if child is None:
        return f"there is no actor {order.name!r}"
    if wrong := faults.check(order):
        return wrong
    if not child.pid:
        return f"{order.name} has no process now"
    if order.fault == "crash":
        os.kill(child.pid, signal.SIGKILL)
    elif order.fault == "stop":
        os.kill(child.pid, signal.SIGSTOP)
        if order.seconds > 0:
            fork_server.loop.call_later(order.seconds, lambda pid=child.pid: _go_on(child, pid))  # type: ignore[misc]
    elif child.uplink is None:
        return f"{order.name} is a program: only crash and stop can be injected"
    else:
        child.uplink.send(order)
    return ""


def _go_on(child: Child, pid: int) -> None:
    if child.pid == pid:
        os.kill(pid, signal.SIGCONT)
