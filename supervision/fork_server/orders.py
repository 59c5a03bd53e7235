"""Orders from the processes of the tree: to start and stop children, to run disposable processes."""

from __future__ import annotations

import logging
import time

from ..message import Message
from ..messaging.wire import Frame, WireError
from ..process_messages import (
    CreateActor,
    DiedOnInput,
    DisposableResult,
    Exited,
    ReachedMaxRestartIntensity,
    Ready,
    RunDisposable,
    ServiceState,
    Stop,
)
from ..protocol import FORK_SERVER, Done
from ..spec import ChildSpec, Policy
from .connection import ProcessConnection
from .control import Control
from .parts import ForkServerParts
from .process_entry import ProcessEntry

log = logging.getLogger(FORK_SERVER)


class Orders:
    """Carries out the orders of a child and answers its questions."""

    def __init__(
        self,
        parts: ForkServerParts,
        control: Control,
    ) -> None:
        self._table, self._processes = parts.table, parts.processes
        self._disposables, self._lifecycle, self._control = parts.disposables, parts.lifecycle, control

    def received(self, child: ProcessEntry, connection: ProcessConnection, frame: Frame) -> None:
        """Handle a frame from the uplink of a child."""
        try:
            message = frame.message()
        except WireError as error:
            log.error("%s sent what cannot be read: %s", child.name, error)
            return
        answer = self._execute(child, connection, frame.ask, message)
        if answer is not None and frame.ask:
            connection.send(answer, frame.ask)

    def _execute(
        self, child: ProcessEntry, connection: ProcessConnection, ask: int, message: Message
    ) -> Message | None:
        if isinstance(message, Ready):
            self._processes.in_service(child)
        elif isinstance(message, CreateActor):
            self._create(child, message)
        elif isinstance(message, Stop):
            self._stop(child, message)
        elif isinstance(message, ServiceState):
            child.reported(message, time.monotonic())
        elif isinstance(message, DiedOnInput):
            self._forgive(child)
        elif isinstance(message, RunDisposable):
            self._disposables.run(child.name, message, lambda result: _answer_disposable(connection, ask, result))
        elif isinstance(message, ReachedMaxRestartIntensity):
            child.process.explain(message.reason)
            return Done()
        else:
            return self._control.answer(message) or Done(f"{type(message).__name__} is not for the fork server")
        return None

    def _child_of(self, parent: ProcessEntry, name: str) -> ProcessEntry | None:
        child = self._table.get(name)
        if child is None or child.parent != parent.name:
            log.error("%s gave an order about %s, which is not its child", parent.name, name)
            return None
        return child

    def _stop(self, parent: ProcessEntry, order: Stop) -> None:
        child = self._child_of(parent, order.name)
        if child is None:
            return
        if order.cause == "start_timeout" and child.alive:
            if child.state == "running":
                self._processes.report_started(child)
        elif child.alive:
            self._processes.stop(child, order.budget, order.cause)
        elif parent.process.uplink is not None:
            # its supervisor has been told of that end, or will be: it counts one of the two
            parent.process.uplink.send(Exited(child.name, child.incarnation, 0, 0, order.cause))

    def _forgive(self, child: ProcessEntry) -> None:
        parent = self._table.get(child.parent)
        if parent is not None and parent.process.uplink is not None:
            parent.process.uplink.send(DiedOnInput(child.name))

    def _create(self, parent: ProcessEntry, order: CreateActor) -> None:
        """Create the child of a spec, or one without a spec, which is not restarted."""
        child = self._table.get(order.name)
        if child is None:
            self._create_dynamic(parent, order)
        elif child.is_dynamic or self._child_of(parent, order.name) is None:
            return
        elif not self._lifecycle.stopping:
            self._processes.start(child)
        elif parent.process.uplink is not None:
            # no incarnation is made any more: its supervisor must not wait for one
            parent.process.uplink.send(Exited(child.name, child.incarnation + 1, 0, 0, "fork_server"))

    def _create_dynamic(self, parent: ProcessEntry, order: CreateActor) -> None:
        if self._lifecycle.stopping:
            return
        spec = ChildSpec(name=order.name, actor=order.actor)
        child = ProcessEntry(order.name, parent.name, spec, Policy(restart="temporary"), is_dynamic=True)
        self._table.add(child)
        self._processes.start(child)


def _answer_disposable(connection: ProcessConnection, ask: int, result: DisposableResult) -> None:
    try:
        connection.send(result, ask)
    except WireError as error:
        connection.send(DisposableResult(kind="WireError", text=str(error)), ask)
