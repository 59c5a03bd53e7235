"""The fork server: its parts joined. Orders of supervisors in, facts about their children out; the root is its own
child."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import random
import signal
import time
from typing import Any

from ..application import Application
from ..backoff import Backoff, BackoffPolicy
from ..intensity import Intensity
from ..message import Message
from ..names import Names, PeerRefused, check_peer
from ..process import load
from ..protocol import (
    EXIT_ESCALATED,
    FORK_SERVER,
    ROOT,
    CreateActor,
    DisposableResult,
    Done,
    Escalated,
    Exited,
    Ready,
    RunDisposable,
    Spawn,
    Started,
    Stop,
)
from ..spec import ChildSpec, Policy, SetPolicies, walk
from ..status_page import StatusPage
from ..wire import Frame, WireError
from . import control, heap_fill
from .connection import Connection
from .disposables import Disposables
from .janitor import Janitor
from .lock import Lock
from .loop import Loop
from .page_release import PageRelease
from .processes import Processes
from .shutdown import OrderedStop, is_whole
from .table import Child, Table
from .warmup import functions, warm_up
from .watch import Watch, changed
from .watchdog import Watchdog

log = logging.getLogger(FORK_SERVER)
_SPARE_ENTRIES = 64
_DYNAMIC_ENTRIES = 1024
_LAST_SECONDS = 2.0
_AGAIN_SECONDS = 0.5
"""What the system refused for want of descriptors or processes is tried again so much later."""


class ForkServer:
    """One agent's."""

    def __init__(self, application: Application) -> None:
        """Takes the directory. Raises AlreadyRunning, PeerRefused, OSError, ImportError."""
        self._application = application
        self.began_at = time.monotonic()
        self.names = Names(application.run_dir / "names")
        os.chmod(application.run_dir, 0o700)
        self._lock = Lock(application.run_dir)
        self.names.clear()
        self._preload(application.preload)
        names = [name for name, _, _ in walk(application.tree)]
        self._policies = {name: application.policies.get(name, Policy()) for name in names}
        self.status_page = StatusPage(len(names) + (_DYNAMIC_ENTRIES if application.dynamic else _SPARE_ENTRIES))
        self.log_file, self.incident_file = application.log_file, application.incident_file
        self.policy_file = application.policy_file
        self.stopping = self.whole_once = False
        self._code = 0
        self._stop_order: OrderedStop | None = None
        self._root_backoff, self._root_restarts = Backoff(), Intensity()

    def _preload(self, modules: tuple[str, ...]) -> None:
        try:
            for module in modules:
                importlib.import_module(module)
        except ImportError:
            self._clean()
            raise

    # -- life -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Serve until stopped; the exit code."""
        self.table = Table(self._application.tree, self._policies)
        self._prepare_to_fork()
        self._janitor = self._new_janitor()
        self.loop = Loop()
        self._connections: set[Connection] = set()
        self.disposables = Disposables(self.loop, self.private_fds)
        self.processes = Processes(self)
        self._listen()
        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.on_signal(number, self._on_stop_signal)
        self.loop.on_signal(signal.SIGCHLD, self._reap)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._watch = Watch(self.loop, self.table, self.processes.kill)
        self._watchdog = Watchdog(self.loop, self.table)
        self.processes.start(self._root())
        self.loop.run()
        self._janitor.dismiss()
        self._clean()
        return self._code

    def _prepare_to_fork(self) -> None:
        """Leave as little as can be for each process to write to what it shares with the others."""
        prepare, loaded = [load(name) for name in self._application.prepare], functions()
        gc.freeze()  # what was loaded stays: to go through it once more takes longer than its garbage is worth
        warm_up(self.names, self.status_page, prepare, loaded)
        del loaded
        heap_fill.one_heap()
        self.page_release = PageRelease()
        gc.collect()
        self._fillers = heap_fill.fill()
        gc.freeze()
        gc.enable()
        self.page_release.give_back()

    def _new_janitor(self) -> Janitor:
        return Janitor([self.names.path, self._lock.path], self._lock.fd)

    def _clean(self) -> None:
        self.names.remove()
        self._lock.release()

    def _root(self) -> Child:
        root = self.table.get(ROOT)
        assert root is not None  # noqa: S101 - every tree has one
        return root

    def _listen(self) -> None:
        self._listener = self.names.listen(FORK_SERVER, 0)
        self.names.publish(FORK_SERVER, 0)
        self._watch_listener()

    def _watch_listener(self) -> None:
        self.loop.watch(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:  # no descriptors: whoever waits would wake the fork server again and again
            log.warning("no connection accepted: %s", error)
            self.loop.forget(self._listener.fileno())
            self.loop.call_later(_AGAIN_SECONDS, self._watch_listener)
            return
        try:
            check_peer(sock)
        except (PeerRefused, OSError) as error:
            log.warning("connection refused: %s", error)
            sock.close()
            return
        self._connections.add(Connection(self.loop, sock, self._asked, self._connections.discard))

    # -- what the processes stand on ------------------------------------------------------------------------------
    def context(self) -> Any:
        return self._application.context

    def refresh(self) -> str:
        return self._application.refresh

    def is_dynamic(self) -> bool:
        return self._application.dynamic

    def arguments(self, child: Child) -> dict[str, Any]:
        """What the actor's class is called with: a plain supervisor gets its spec and the policies."""
        if child.kind == "supervisor":
            return {"spec": child.spec, "policies": self._policies, **child.spec.arguments}
        return dict(child.spec.arguments)

    def private_fds(self) -> list[int]:
        """The fork server's own descriptors, that no child may keep."""
        fds = [*self.loop.fds(), self._lock.fd, self._janitor.fd, self._listener.fileno(), *self.disposables.fds()]
        fds += [connection.fileno() for connection in self._connections]
        for child in self.table:
            # one that is closed belongs to a process that has ended and is not reaped yet
            if child.uplink is not None and child.uplink.is_open:
                fds.append(child.uplink.fileno())
            if child.blackbox is not None:
                fds.append(child.blackbox.fd)
        return fds

    # -- messages -------------------------------------------------------------------------------------------------
    def _asked(self, connection: Connection, frame: Frame) -> None:
        """On the control socket: questions only."""
        try:
            answer = control.answer(self, frame.message())
        except WireError:
            connection.close()
            return
        connection.send(answer or Done(f"{frame.type} cannot be asked here"), frame.ask)

    def received(self, child: Child, connection: Connection, frame: Frame) -> None:
        """From an actor's own process."""
        try:
            message = frame.message()
        except WireError as error:
            log.error("%s sent what cannot be read: %s", child.name, error)
            return
        answer = self._obey(child, connection, frame.ask, message)
        if answer is not None and frame.ask:
            connection.send(answer, frame.ask)

    def _obey(self, child: Child, connection: Connection, ask: int, message: Message) -> Message | None:
        if isinstance(message, Ready):
            self.processes.in_service(child)
        elif isinstance(message, Spawn):
            self._spawn(child, message)
        elif isinstance(message, Stop):
            self._stop(child, message)
        elif isinstance(message, RunDisposable):
            self.disposables.run(child.name, message, lambda result: self._disposed(connection, ask, result))
        elif isinstance(message, Escalated):
            child.detail = message.reason
            return Done()
        elif isinstance(message, CreateActor) and self._application.dynamic:
            self._create(child, message)
        else:
            return control.answer(self, message) or Done(f"{type(message).__name__} is not for the fork server")
        return None

    def _disposed(self, connection: Connection, ask: int, result: DisposableResult) -> None:
        try:
            connection.send(result, ask)
        except WireError as error:
            connection.send(DisposableResult(kind="WireError", text=str(error)), ask)

    def _child_of(self, parent: Child, name: str) -> Child | None:
        child = self.table.get(name)
        if child is None or child.parent != parent.name:
            log.error("%s gave an order about %s, which is not its child", parent.name, name)
            return None
        return child

    def _spawn(self, parent: Child, order: Spawn) -> None:
        child = self._child_of(parent, order.name)
        if child is not None and not self.stopping:
            self.processes.start(child)

    def _stop(self, parent: Child, order: Stop) -> None:
        child = self._child_of(parent, order.name)
        if child is None:
            return
        if child.alive:
            self.processes.stop(child, order.budget, order.cause)
        elif parent.uplink is not None:
            parent.uplink.send(Exited(child.name, 0, 0, 0, "stopped"))

    def _create(self, parent: Child, order: CreateActor) -> None:
        if self.table.get(order.name) is None and not self.stopping:
            spec = ChildSpec(name=order.name, actor=order.actor)
            child = Child(order.name, parent.name, spec, Policy(restart="temporary"), is_dynamic=True)
            self.table.add(child)
            self.processes.start(child)

    def set_policies(self, order: SetPolicies) -> None:
        """Supervise by these from now on, and tell the supervisors; those that start later are given them."""
        self._policies.update({name: policy for name, policy in order.policies.items() if name in self._policies})
        for child in self.table:
            child.policy = changed(child, self._policies.get(child.name, child.policy))
            if child.kind == "supervisor" and child.uplink is not None and child.uplink.is_open:
                child.uplink.send(order)
        self._watch.retune()
        log.info("supervision policy taken: %d names", len(order.policies))

    # -- what became of the children ------------------------------------------------------------------------------
    def started(self, child: Child, started: Started) -> None:
        parent = self.table.get(child.parent)
        if parent is not None and parent.uplink is not None and not child.is_dynamic:
            parent.uplink.send(started)
        if child.incident_open:
            child.incident_open = False
            self._application.incidents.closed(started, time.monotonic() - child.died_at)
        if not self.whole_once and is_whole(self.table):
            self.whole_once = True
            self._watchdog.ready()

    def exited(self, child: Child, exited: Exited) -> None:
        self.disposables.forget(child.name)
        child.policy = self._policies.get(child.name, child.policy)
        self.processes.kill_below(child)
        if self._is_incident(child, exited):
            child.last_cause, child.last_incident_at, child.incident_open = exited.cause, time.monotonic(), True
            log.error("%s ended: %s%s", child.name, exited.cause, f" on {exited.message}" if exited.message else "")
            self._application.incidents.opened(exited)
        if child.is_dynamic:
            self.table.discard(child)
            self.names.bury(child.name)
        if self._stop_order is not None:
            self._stop_order.ended(child)
        if child.name == ROOT:
            self._root_ended(child, exited)
            return
        parent = self.table.get(child.parent)
        if parent is not None and parent.uplink is not None and exited.cause != "parent":
            parent.uplink.send(exited)

    def _is_incident(self, child: Child, exited: Exited) -> bool:
        if exited.cause in ("stopped", "renewed", "parent", "fork_server"):
            return False
        if exited.cause == "exit" and exited.status == 0:
            return child.policy.restart == "permanent"
        return True

    def _root_ended(self, root: Child, exited: Exited) -> None:
        if self.stopping:
            return
        if os.WIFEXITED(exited.status) and os.WEXITSTATUS(exited.status) == EXIT_ESCALATED:
            log.critical("the root supervisor gives up: %s", exited.detail)
            self.begin_stop(1)
            return
        policy = root.policy
        now = time.monotonic()
        self._root_restarts, within = self._root_restarts.add(now, policy.max_restarts, policy.period_seconds)
        if not within:
            log.critical(
                "the root was restarted more than %d times in %g s", policy.max_restarts, policy.period_seconds
            )
            self.begin_stop(1)
            return
        pauses = BackoffPolicy(
            first=policy.backoff_seconds, maximum=policy.backoff_max_seconds, reset_after=policy.backoff_reset_seconds
        )
        self._root_backoff = self._root_backoff.failed(pauses, exited.uptime)
        pause = self._root_backoff.pause(pauses, random.random)
        self.loop.call_later(pause, lambda: None if self.stopping else self.processes.start(root))

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._janitor.pid:
                log.error("the janitor was killed: another takes its place")
                self._janitor.dismiss()
                self._start_janitor()
            elif not self.disposables.reaped(pid, status):
                self.processes.reaped(pid, status)

    def _start_janitor(self) -> None:
        try:
            self._janitor.start()
        except OSError as error:
            log.error("no janitor: %s", error)
            self.loop.call_later(_AGAIN_SECONDS, self._start_janitor)

    # -- stopping -------------------------------------------------------------------------------------------------
    def _on_stop_signal(self) -> None:
        if self.stopping:
            log.warning("a second signal: ending at once")
            self._code = 1
            self._end_at_once()
        else:
            log.info("stopping")
            self.begin_stop()

    def begin_stop(self, code: int = 0) -> None:
        """Stop everything in order; again does nothing."""
        if self.stopping:
            return
        self.stopping, self._code = True, code
        self._watchdog.stopping()
        self._stop_order = OrderedStop(self.table, self.processes.stop, self._all_stopped)
        self._stop_order.begin()

    def _all_stopped(self) -> None:
        self.disposables.kill_all()
        self.loop.stop()

    def _end_at_once(self) -> None:
        self._stop_order = None
        self.processes.kill_everything()
        self.disposables.kill_all()
        end = time.monotonic() + _LAST_SECONDS
        while self.table.alive() and time.monotonic() < end:
            self._reap()
            time.sleep(0.002)
        self.loop.stop()
