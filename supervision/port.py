"""The actor's port to the tree: implements the calls of our Actor and of Thespian's."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from thespian.actors import Actor as ThespianActor
from thespian.actors import ActorAddress, WakeupMessage

from . import disposable_calls
from .actor import Actor, Address, AskError, Timer
from .addresses import ActorName
from .channel import Flusher
from .class_names import class_name
from .dead_letters import DEAD_LETTERS, DeadLetterRoute
from .inbox import Inbox, ReplyAddress
from .links import Links
from .listeners import Listeners, Make
from .message import Message
from .names import Names
from .outbox import QueuedMessage
from .payload import unwrap, wrap
from .protocol import DISPOSABLE_GRACE_SECONDS, FORK_SERVER, CreateActor, MessageCount, Shutdown
from .questions import Questions
from .running import ActorRunner
from .task_context import InputRecord, Work
from .time_scale import scaled
from .uplink import Uplink
from .wire import Frame, WireError, encode


@dataclass
class LostMessages:
    """Messages that were not handled, counted."""

    dropped: int = 0
    """Dropped because a queue was full, or by an injected fault."""
    dead_letters: int = 0


class ActorPort:
    """Implements `actor.Port` in an actor's process."""

    def __init__(
        self,
        name: ActorName,
        incarnation: int,
        context: Any,
        names: Names,
        runner: ActorRunner,
        listeners: Listeners | None = None,
        dynamic: bool = False,
    ) -> None:
        self.name, self.incarnation, self.context, self.names = name, incarnation, context, names
        self.address: ActorAddress = Address(name)
        self.runner, self._listeners = runner, listeners or Listeners()
        self.inbox: Inbox
        self.uplink: Uplink
        self.actor: ThespianActor
        self.losses = LostMessages()
        self._links = Links(self)
        self._dead_letters = DeadLetterRoute(self) if dynamic else None
        self._questions = Questions(asyncio.get_running_loop(), incarnation)
        self._child_numbers = itertools.count(1)

    @property
    def globalName(self) -> str:
        return self.name

    @property
    def flusher(self) -> Flusher:
        return self.runner.flusher

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    def connect(self, inbox: Inbox, uplink: Uplink) -> None:
        """The transport of the actor's messages; both need the port themselves."""
        self.inbox, self.uplink = inbox, uplink

    def serve(self, actor: ThespianActor) -> None:
        """This is the port of that actor."""
        self.actor = actor
        actor._myRef = self

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        return self._listeners.listen(label, make)

    def message_counts(self) -> list[MessageCount]:
        return self.inbox.flow.counts()

    # -- messages out ---------------------------------------------------------------------------------------------
    def actor_send(self, target: ActorAddress, message: Any, deadline: float = 10.0) -> None:
        message = wrap(message, objects=self._dead_letters is not None)
        if isinstance(target, ReplyAddress) and not target.answered:
            target.answered = True
            target.channel.write(encode(self.name, message, answer=target.ask))
            return
        name = str(target.addressDetails)
        if name == self.name:
            self.inbox.put(message, Address(name))
        elif name == FORK_SERVER:
            self.uplink.send(message)
        else:
            body = encode(self.name, message)
            self._links.to(name).send(
                QueuedMessage(message, body, self.loop.time() + scaled(deadline), 0, message.coalesce_key())
            )

    @property
    def waiting(self) -> int:
        """Messages that are not acknowledged yet."""
        return self._links.waiting

    @property
    def unsent(self) -> bool:
        return (
            self.uplink.unsent
            or self.inbox.unsent
            or self._links.unsent
            or (self._dead_letters is not None and self._dead_letters.unsent)
        )

    def message_lost(self) -> None:
        """An injected fault has dropped a message."""
        self.losses.dropped += 1

    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None:
        self.losses.dead_letters += 1
        self.losses.dropped += reason == "overflow"
        self.count("actor_dead_letters_total", to=name, reason=reason)
        if entry.ask:
            self._questions.fail(entry.ask, AskError(reason))
        elif self._dead_letters is not None:
            if name != DEAD_LETTERS:
                self._dead_letters.send(Address(name), unwrap(entry.message, objects=True))
        elif isinstance(self.actor, Actor):
            actor, message = self.actor, entry.message
            # after the failed tell has returned
            self.loop.call_soon(self.runner.call, lambda: actor.on_dead_letter(name, message, reason), "on_dead_letter")

    def count(self, metric: str, **labels: str) -> None:
        """Count in the actor's own metrics, if it has any."""
        if isinstance(getattr(self, "actor", None), Actor):
            self.actor.metrics.count(metric, **labels)  # type: ignore[attr-defined]

    # -- questions ------------------------------------------------------------------------------------------------
    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        ask, timeout = self._questions.open(name), scaled(timeout)
        try:
            if name == FORK_SERVER:
                self.uplink.send(message, ask)
            else:
                body = encode(self.name, message, ask)
                self._links.to(name).send(QueuedMessage(message, body, self.loop.time() + timeout, ask))
        except WireError as error:
            self._questions.fail(ask, AskError(str(error)))
        try:
            return await self._questions.answer(ask, timeout)
        except AskError as error:
            raise type(error)(f"{name} was asked {type(message).__name__}: {error}") from None

    def answered(self, name: str, frame: Frame) -> None:
        if not self._questions.answered(frame):
            self.count("actor_late_answers_total")

    def connection_closed(self, name: str, kept: set[int]) -> None:
        self._questions.connection_closed(name, kept)

    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        order = disposable_calls.order_of(function, arguments, deadline)
        # the fork server itself answers after the deadline
        answer = await self.ask(FORK_SERVER, order, deadline + DISPOSABLE_GRACE_SECONDS)
        return disposable_calls.result_of(answer, function, deadline)

    # -- timers and tasks -----------------------------------------------------------------------------------------
    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        return self.runner.timers.after(seconds, call)

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        return self.runner.timers.every(seconds, call, jitter, immediately)

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        return self.runner.task(coroutine, name or getattr(coroutine, "__qualname__", "task"), record)

    def work_for(self, work: Work) -> None:
        self.runner.work_for(work)

    # -- calls of Thespian's Actor --------------------------------------------------------------------------------
    def wakeupAfter(self, period: timedelta, payload: Any = None) -> None:
        message = WakeupMessage(period, payload)
        self.after(period.total_seconds(), lambda: self.inbox.put(message, Address(self.name)))

    def createActor(
        self, actor_class: type | str, requirements: Any, global_name: str | None, source_hash: str | None = None
    ) -> Address:
        actor = class_name(actor_class)
        name = global_name or f"{self.name}/{actor.rpartition(':')[2].lower()}-{next(self._child_numbers)}"
        self.uplink.send(CreateActor(name, actor))
        return Address(name)

    def handleDeadLetters(self, address: ActorAddress, enable: bool) -> None:
        if enable:
            self.names.publish(self.name, self.incarnation, alias=DEAD_LETTERS)
        else:
            self.names.unpublish(self.name, self.incarnation, DEAD_LETTERS)

    def actorSystemShutdown(self) -> None:
        self.uplink.send(Shutdown())
