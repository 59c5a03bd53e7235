"""The fork server, assembled from its parts. Supervisors send orders, and get events of their children."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterable

from ..application import Application
from ..errors import error_text
from ..messaging.wire import Frame
from ..process.status_page import StatusPage
from ..process_messages import Exited, Started
from ..protocol import FORK_SERVER, ROOT, GetTree
from ..repeated_warnings import RepeatedWarnings
from . import signals, socket_repair, titles
from .child_checks import Watch
from .connection import ProcessConnection
from .control import Control
from .disk_check import DiskCheck
from .disposables import Disposables
from .launcher import LaunchContext
from .lifecycle import ForkServerLifecycle
from .listener import Listener
from .loop import Loop
from .oom_kills import OomKills
from .orders import Orders
from .own_disks import OwnDisks
from .parts import ForkServerParts
from .policies import Policies, PolicyOrders
from .probes import ProgramProbes
from .process_entry import ProcessEntry
from .process_table import ProcessTable
from .processes import ChildProcesses
from .reports import Reports, inherits_sockets
from .root import GiveUp, RootSupervision
from .run_directory import RunDirectory
from .shared_heap import SharedHeap
from .socket_store import SocketStore

log = logging.getLogger(FORK_SERVER)
_SPARE_ENTRIES = 64
_DYNAMIC_ENTRIES = 1024


def preload(modules: Iterable[str]) -> None:
    """Import the modules that the actors share. Raises ImportError."""
    for module in modules:
        importlib.import_module(module)


class ForkServer:
    """The fork server of one agent. It owns the parts and passes events of children between them."""

    def __init__(self, application: Application, directory: RunDirectory) -> None:
        """Prepares the heap for the children and starts to listen. Raises OSError."""
        self._directory = directory
        titles.prepare(application.name)
        self._policies = Policies(application.tree, application.policies)
        self._table = table = ProcessTable(application.tree, self._policies.by_name)
        entries = len(self._policies.by_name) + (_DYNAMIC_ENTRIES if application.dynamic else _SPARE_ENTRIES)
        status_page = StatusPage(entries)
        heap = SharedHeap(directory.names, status_page, application.prepare, application.hot_functions)
        directory.start_janitor(application.at_end.when_killed)
        self._loop = loop = Loop()
        self._sockets = SocketStore(loop)
        oom_kills = OomKills()
        self._disposables = Disposables(loop, self.private_fds, oom_kills)
        disks = OwnDisks(loop, self._disposables.run, application.directories)
        context = LaunchContext(
            application=application,
            policies=self._policies,
            names=directory.names,
            status_page=status_page,
            release_memory=heap.release,
            sockets=self._sockets,
            private_fds=self.private_fds,
        )
        self._processes = processes = ChildProcesses(loop, table, context, self, oom_kills, disks)
        self._lifecycle = ForkServerLifecycle(loop, table, processes, self._disposables)
        self._watch = watch = Watch(loop, table, processes.kill, oom_kills, disks)
        parts = ForkServerParts(table, processes, self._disposables, self._lifecycle, disks)
        policies = PolicyOrders(self._policies, table, watch.reschedule)
        self._control = control = Control(application, loop, parts, policies)
        self._listener = Listener(loop, directory.names, control.received)
        self._orders = Orders(parts, control)
        self._reports = Reports(loop, table, application.incidents)
        application.incidents.guard(DiskCheck(self._disposables.run, application.files.incidents))
        self._root = RootSupervision()
        self._warnings = RepeatedWarnings(log)
        ProgramProbes(loop, table, self._disposables.run, watch.end_hung, processes.kill)

    def run(self) -> int:
        """Serve until stopped; the exit code."""
        signals.handle(self._loop, stop=self._on_stop_signal, dump=self._dump, reap=self._reap)
        self._directory.watch(self._loop, self._run_directory_removed, self._names_changed)
        self._directory.watch_other_lock(self._loop, lambda path: DiskCheck(self._disposables.run, path, writes=False))
        self._loop.run()
        self._reports.end()
        return self._lifecycle.code

    def create_root(self) -> None:
        """Start the root supervisor, and with it the tree, once the loop runs."""
        self._loop.call_later(0.0, self._start_root)

    def stop(self) -> None:
        """End the tree in order."""
        self._lifecycle.start_stop()

    def _run_directory_removed(self) -> None:
        """End the agent. Its service manager starts it again, and it creates the directory."""
        if self._lifecycle.stopping:
            return
        detail = f"the run directory {self._directory.names.path.parent} was removed: the agent ends"
        log.critical("%s", detail)
        uptime = self._control.uptime()
        end = Exited(FORK_SERVER, 1, os.getpid(), 1 << 8, "run_dir_removed", uptime=uptime, detail=detail)
        self._reports.own(end)
        self._lifecycle.start_stop(1)

    def _names_changed(self) -> bool:
        """Actors came and went, or sockets were removed: recreate these, or replace their actor. False: try again."""
        path = str(self._directory.names.path)
        try:
            self._listener.restore()
            socket_repair.restore(self._directory.names, self._table, self._processes.kill)
        except OSError as error:
            self._warnings.warn(path, f"cannot check the sockets in {path}: {error_text(error)}")
            return False
        self._warnings.resolved(path)
        return True

    def private_fds(self) -> list[int]:
        """The descriptors that every child closes."""
        parts = (self._loop, self._directory, self._listener, self._disposables, self._table, self._sockets)
        return [fd for part in (*parts, self._watch) for fd in part.fds()]

    def _start_root(self) -> None:
        root = self._table.get(ROOT)
        if root is not None and not self._lifecycle.stopping:
            self._processes.start(root)

    # -- events of the children ------------------------------------------------------------------------------------
    def received(self, child: ProcessEntry, connection: ProcessConnection, frame: Frame) -> None:
        """Handle a frame of a child."""
        self._orders.received(child, connection, frame)

    def started(self, child: ProcessEntry, started: Started) -> None:
        """A child is in service."""
        self._reports.started(child, started)
        self._lifecycle.started()

    def exited(self, child: ProcessEntry, exited: Exited) -> None:
        """The process of a child has ended, and was reaped."""
        self._disposables.forget(child.name)
        child.apply_policy(self._policies.of(child.name, child.policy))
        self._processes.kill_below(child)
        self._reports.record(child, exited)
        self._sockets.ended(child.name, keep=inherits_sockets(child, exited))
        if child.is_dynamic:
            self._table.discard(child)
            self._retire(child.name)
        self._lifecycle.exited(child)
        if child.name == ROOT:
            self._root_exited(child, exited)
        else:
            self._reports.exited(child, exited)

    def _retire(self, name: str) -> None:
        try:
            self._directory.names.retire(name)
        except OSError as error:  # senders then find nobody, but are not told that there will be nobody
            log.error("the name %s is not retired: %s", name, error)

    def _root_exited(self, root: ProcessEntry, exited: Exited) -> None:
        if self._lifecycle.stopping:
            return
        decision = self._root.failed(exited, root.policy)
        if isinstance(decision, GiveUp):
            log.critical("%s", decision.reason)
            self._lifecycle.start_stop(1)
        else:
            self._loop.call_later(decision.seconds, self._start_root)

    # -- signals --------------------------------------------------------------------------------------------------
    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if not self._directory.reaped(pid, self._loop) and not self._disposables.reaped(pid, status):
                self._processes.reaped(pid, status, used.ru_maxrss * 1024)

    def _dump(self) -> None:
        for line in signals.state_lines(self._control.tree(GetTree(memory=False))):
            log.warning("%s", line)

    def _on_stop_signal(self) -> None:
        if self._lifecycle.stopping:
            log.warning("a second signal: ending at once")
            self._lifecycle.end_at_once(self._reap)
        else:
            log.info("stopping")
            self._lifecycle.start_stop()
