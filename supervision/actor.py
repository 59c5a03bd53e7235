"""The base class of our actors: typed dispatch, coroutines, ask, timers, Hello.

An actor is a class with handlers:

    class Echo(Actor):
        @on(Say)
        def on_say(self, message: Say, sender: Address) -> Said:
            return Said(message.text)

A handler may be a coroutine. A Message that it returns goes to the sender, as the answer if the sender asked. A handler
that raises ends the process, and the supervisor starts another: no actor continues half changed. A handler that is
cancelled without a request ends the process too, because its question would get no answer.

The class is a plain `thespian.actors.Actor`: it runs on any Thespian system base. The calls that Thespian does not have
(ask, every, after, disposable) are delegated to `self._myRef`, as Thespian's own are; they need our system base or the
harness.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

from thespian.actors import Actor as ThespianActor
from thespian.actors import ActorAddress, ActorExitRequest, ChildActorExited, DeadEnvelope, WakeupMessage

from .addresses import ActorName
from .calls import Port, Timer
from .errors import AskError, AskTimeout, DisposableError, DisposableTimeout
from .listeners import Make
from .message import Message, Question, reply_of
from .metrics import Metrics
from .process_messages import Exited, LastEnd
from .resends import Resends
from .system_messages import SYSTEM_HANDLERS
from .task_context import InputRecord, Work

__all__ = [
    "Actor",
    "Address",
    "AskError",
    "AskTimeout",
    "DisposableError",
    "DisposableTimeout",
    "Handler",
    "Port",
    "Timer",
    "on",
]

R = TypeVar("R", bound=Message)
Handler = Callable[..., Any]


class Address(ActorAddress):
    """The name of an actor in the tree, `pleg` or `pod_workers/worker/1`: always its current incarnation. `ask` is the
    id of the sender's question; 0: it asked none. A message sent to an address with an id answers that question.
    """

    __slots__ = ("ask", "name")

    def __init__(self, name: str, ask: int = 0) -> None:
        self.name, self.ask = name, ask

    @property
    def addressDetails(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class ChildExited(ChildActorExited):
    """Thespian's ChildActorExited, with what the fork server knows about the exit."""

    def __init__(self, exited: Exited) -> None:
        super().__init__(Address(exited.name))
        self.exited = exited


def on(message_type: type) -> Callable[[Handler], Handler]:
    """Mark a method as the handler of a message type (subclasses of it are not included)."""

    def mark(method: Handler) -> Handler:
        method.__dict__.setdefault("_handles", []).append(message_type)
        return method

    return mark


def _own_handlers(cls: type) -> dict[type, str]:
    """The names of the methods that the class itself marks with `on`, by message type."""
    marked = ((name, getattr(method, "_handles", ())) for name, method in vars(cls).items())
    return {message_type: name for name, message_types in marked for message_type in message_types}


class Actor(ThespianActor):
    """The base class of actors. Subclasses define handlers (`@on`) and override the hooks below that they need."""

    _handlers: ClassVar[dict[type, str]] = {}
    _myRef: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._handlers = {**cls._handlers, **_own_handlers(cls)}

    # -- hooks ----------------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        """Runs before the first message is handled and before the actor's name means this incarnation."""

    async def on_stop(self) -> None:
        """Runs on an orderly stop, within the shutdown budget. Nothing may depend on it: actors are crash-only."""

    async def on_hello(self, name: ActorName) -> None:
        """The actor `name` has started, or lost messages: send it the whole current state again."""

    def on_dead_letter(self, name: str, message: Message, reason: str) -> None:
        """A message to `name` missed its deadline, or its queue was full. By default that actor gets the whole current
        state after a pause, once for all that it missed, as if it had said Hello."""
        resends: Resends = vars(self).setdefault("_resends", Resends())
        pause = resends.lost(name, time.monotonic())
        if pause is not None:
            self.after(pause, partial(self._send_again, ActorName(name), resends))

    async def _send_again(self, name: ActorName, resends: Resends) -> None:
        resends.sent(name, time.monotonic())
        await self.on_hello(name)

    # -- properties -----------------------------------------------------------------------------------------------
    @property
    def port(self) -> Port:
        return cast(Port, self._myRef)

    @property
    def name(self) -> ActorName:
        return self.port.name

    @property
    def incarnation(self) -> int:
        """1 for the first process of this name, one more for each restart."""
        return self.port.incarnation

    @property
    def last_end(self) -> LastEnd:
        """How the last incarnation ended."""
        return self.port.last_end

    @property
    def context(self) -> Any:
        """The application's context, the same for every actor (see `application.py`)."""
        return self.port.context

    @property
    def log(self) -> logging.Logger:
        return logging.getLogger(self.name)

    @property
    def metrics(self) -> Metrics:
        """Counters, gauges and histograms of this incarnation; GetMetrics returns them."""
        found = self.__dict__.get("_metrics")
        if found is None:
            found = self.__dict__["_metrics"] = Metrics()
        return cast(Metrics, found)

    # -- calls ----------------------------------------------------------------------------------------------------
    def tell(self, name: ActorName | Address, message: Message, *, deadline: float = 10.0) -> None:
        """Send a message. Never blocks. If it is not delivered within `deadline` seconds, on_dead_letter is called.

        Messages to one receiver arrive in the order of sending, in any size.
        """
        self.port.actor_send(Address(name) if isinstance(name, str) else name, message, deadline)

    async def ask(self, name: ActorName, question: Question[R], *, timeout: float = 10.0) -> R:
        """Send a question and wait for its answer.

        Raises AskTimeout if no answer arrives within `timeout` seconds, AskError if it has the wrong type or the
        receiver dies.
        """
        answer = await self.port.ask(name, question, timeout)
        if not isinstance(answer, reply_of(type(question))):
            raise AskError(f"{name} answered {type(question).__name__} with {type(answer).__name__}")
        return cast(R, answer)

    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        """Call once, `seconds` from now. A coroutine function is run as a task."""
        return self.port.after(seconds, call)

    def every(
        self, seconds: float, call: Callable[[], Any], *, jitter: float = 0.0, immediately: bool = False
    ) -> Timer:
        """Call every `seconds` plus a random part of `jitter * seconds`. Runs of one timer never overlap."""
        return self.port.every(seconds, call, jitter, immediately)

    async def pause(self, seconds: float) -> None:
        """Wait, by the actor's clock."""
        over = asyncio.Event()
        timer = self.after(seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str = "", *, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        """Run a coroutine beside the handlers. If it raises, or is cancelled without a call of the task's `cancel`, the
        process ends as it does for a handler.

        `name`: kind and subject, such as `pod UID`; tasks are counted by kind. `record`: records the input that the
        task works for, for the quarantine."""
        return self.port.start_task(coroutine, name, record)

    def work_for(self, label: str, *, allowance_seconds: float = 0.0) -> None:
        """Set the subject of the running task. One of its steps may hold the actor for `allowance_seconds`, if that is
        more than the policy's busy_seconds."""
        self.port.work_for(Work(label, allowance_seconds=allowance_seconds))

    async def disposable(self, function: str, arguments: dict[str, Any], *, deadline: float) -> Any:
        """Run `module:function(**arguments)` in a disposable process, for system calls that may hang.

        Arguments and result are plain msgpack data. Raises DisposableError if the function raises or cannot be run,
        DisposableTimeout if it still runs after `deadline` seconds. It is killed then; a process that cannot be killed
        is abandoned and counted.
        """
        try:
            return await self.port.disposable(function, arguments, deadline)
        except AskError as error:  # the fork server does not answer: the caller sees one more kind of failure
            raise DisposableError("AskError", str(error)) from None

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        """The listening sockets: the last incarnation's if the child spec keeps them, else those that `make` returns.

        `label`: the address. Raises what `make` raises.
        """
        return self.port.listen(label, make)

    # -- dispatch -------------------------------------------------------------------------------------------------
    def receiveMessage(self, message: Any, sender: ActorAddress) -> Any:
        """Thespian's entry. Returns the handler's awaitable, when it is a coroutine, for the base to run."""
        method = self._handlers.get(type(message))
        if method is not None:
            result = getattr(self, method)(message, sender)
        elif (handle := SYSTEM_HANDLERS.get(type(message))) is not None:
            result = handle(self, message)
        else:
            if isinstance(message, ActorExitRequest | ChildActorExited | WakeupMessage | DeadEnvelope):
                return None
            self.metrics.count("actor_unhandled_messages_total", type=type(message).__name__)
            self.log.warning("no handler for %s from %s", type(message).__name__, sender)
            return None
        if result is None:
            return None
        if isinstance(result, Message):
            return self.send(sender, result)
        return self._finish(result, sender) if inspect.isawaitable(result) else None

    async def _finish(self, result: Awaitable[Any], sender: ActorAddress) -> None:
        self._answer(await result, sender)

    def _answer(self, result: Any, sender: ActorAddress) -> None:
        if isinstance(result, Message):
            self.send(sender, result)
