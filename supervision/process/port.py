"""The actor's port to the tree: implements the calls of our Actor and of Thespian's."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from thespian.actors import Actor as ThespianActor
from thespian.actors import ActorAddress, WakeupMessage

from .. import disposable_calls
from ..actor import Actor, Address, Timer
from ..addresses import ActorName
from ..class_names import class_name
from ..listeners import Make
from ..message import Message
from ..messaging.inbox import Inbox, ReplyAddress
from ..messaging.names import Names
from ..messaging.outgoing import OutgoingMessages
from ..messaging.payload import wrap
from ..messaging.uplink import Uplink
from ..messaging.wire import Frame
from ..process_messages import DISPOSABLE_GRACE_SECONDS, CreateActor
from ..protocol import FORK_SERVER, MessageCount, Shutdown
from ..task_context import InputRecord, Work
from .actor_runner import ActorRunner
from .incarnation import Incarnation
from .timers import Period, seconds_of


@dataclass
class LostMessages:
    """Messages that were not handled, counted."""

    dropped: int = 0
    """Dropped because a queue was full, or by an injected fault."""
    dead_letters: int = 0


@dataclass(frozen=True)
class MessageConnections:
    """The ways of messages to and from an actor's process."""

    names: Names
    """The sockets of other actors."""
    inbox: Inbox
    """Connections from other actors."""
    uplink: Uplink
    """The connection to the fork server."""


class ActorPort:
    """Implements `calls.Port` in an actor's process."""

    def __init__(
        self,
        name: ActorName,
        process: Incarnation,
        context: Any,
        runner: ActorRunner,
        connections: MessageConnections,
        *,
        dynamic: bool = False,
    ) -> None:
        """`dynamic`: as in Launch."""
        self.name, self.incarnation, self.context = name, process.number, context
        self.last_end = process.last_end
        self.address: ActorAddress = Address(name)
        self.inbox = connections.inbox
        self.losses = LostMessages()
        self._runner, self._listeners, self._dynamic = runner, process.listeners, dynamic
        self._outgoing = OutgoingMessages(
            name, process.number, connections.names, runner.flusher, connections.uplink, self, dynamic
        )
        self._actor: ThespianActor | None = None
        self._child_numbers = itertools.count(1)

    @property
    def globalName(self) -> str:
        return self.name

    def attach(self, actor: ThespianActor) -> None:
        """This is the port of that actor. Until then it counts nothing in the metrics of an actor."""
        self._actor = actor
        actor._myRef = self

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        return self._listeners.listen(label, make)

    def message_counts(self) -> list[MessageCount]:
        return self.inbox.flow.counts()

    # -- messages -------------------------------------------------------------------------------------------------
    def actor_send(self, target: ActorAddress, message: Any, deadline: float = 10.0) -> None:
        message = wrap(message, objects=self._dynamic)
        if isinstance(target, ReplyAddress) and not target.answered:
            target.answer(self.name, message)
            return
        name = str(target.addressDetails)
        if name == self.name:
            self.inbox.put(message, Address(name))
        else:
            self._outgoing.send(name, message, deadline)

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        return await self._outgoing.ask(name, message, timeout)

    def answered(self, name: str, frame: Frame) -> None:
        """An answer of the fork server."""
        self._outgoing.answered(name, frame)

    @property
    def waiting(self) -> int:
        """Messages that are not acknowledged yet."""
        return self._outgoing.waiting

    @property
    def unsent(self) -> bool:
        """Whether bytes wait for a socket."""
        return self.inbox.unsent or self._outgoing.unsent

    # -- what was lost, and what is counted -----------------------------------------------------------------------
    def message_lost(self) -> None:
        """An injected fault has dropped a message."""
        self.losses.dropped += 1

    def not_delivered(self, name: str, reason: str) -> None:
        self.losses.dead_letters += 1
        self.losses.dropped += reason == "overflow"
        self.count("actor_dead_letters_total", to=name, reason=reason)

    def dead_letter(self, name: str, message: Message, reason: str) -> None:
        if isinstance(actor := self._actor, Actor):
            # after the failed tell has returned
            call = partial(actor.on_dead_letter, name, message, reason)
            asyncio.get_running_loop().call_soon(self._runner.call, call, "on_dead_letter")

    def late_answer(self) -> None:
        self.count("actor_late_answers_total")

    def count(self, metric: str, **labels: str) -> None:
        """Count in the actor's own metrics, if it has any."""
        if isinstance(self._actor, Actor):
            self._actor.metrics.count(metric, **labels)

    # -- disposable processes -------------------------------------------------------------------------------------
    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        order = disposable_calls.order_of(function, arguments, deadline)
        # the fork server itself answers after the deadline
        answer = await self.ask(FORK_SERVER, order, deadline + DISPOSABLE_GRACE_SECONDS)
        return disposable_calls.result_of(answer, function, deadline)

    # -- timers and tasks -----------------------------------------------------------------------------------------
    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        return self._runner.timers.after(seconds, call)

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        return self._runner.timers.every(seconds, call, jitter, immediately)

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        return self._runner.task(coroutine, name or getattr(coroutine, "__qualname__", "task"), record)

    def work_for(self, work: Work) -> None:
        self._runner.work_for(work)

    # -- calls of Thespian's Actor --------------------------------------------------------------------------------
    def wakeupAfter(self, period: Period, payload: Any = None) -> None:
        message = WakeupMessage(period, payload)
        self.after(seconds_of(period), lambda: self.inbox.put(message, Address(self.name)))

    def createActor(
        self, actor_class: type | str, requirements: Any, global_name: str | None, source_hash: str | None = None
    ) -> Address:
        actor = class_name(actor_class)
        name = global_name or f"{self.name}/{actor.rpartition(':')[2].lower()}-{next(self._child_numbers)}"
        self.actor_send(Address(FORK_SERVER), CreateActor(name, actor))
        return Address(name)

    def handleDeadLetters(self, address: ActorAddress, enable: bool) -> None:
        self._outgoing.handle_dead_letters(enable)

    def actorSystemShutdown(self) -> None:
        self.actor_send(Address(FORK_SERVER), Shutdown())
