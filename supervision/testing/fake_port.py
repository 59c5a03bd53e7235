"""The port of an actor in a test's event loop: records what the actor does, and answers its questions."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import socket
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from thespian.actors import Actor as ThespianActor
from thespian.actors import ActorAddress, WakeupMessage

from ..actor import Address, Timer
from ..addresses import ActorName
from ..class_names import class_name
from ..listeners import Make
from ..message import Message, Question
from ..process.steps import StepObserver, Steps
from ..process.timers import Period, Timers, seconds_of
from ..process_messages import LastEnd
from ..protocol import MessageCount
from ..task_context import InputRecord, Work
from .fake_answers import FakeAnswers, through_the_wire
from .fake_disposables import FakeDisposables
from .virtual_clock import VirtualClock


@dataclass(frozen=True)
class SentMessages:
    """What the actor has sent, oldest first."""

    outbox: list[tuple[str, Message]] = field(default_factory=list)
    """(receiver, message) of every tell, without the answers to the test's own questions."""
    asks: list[tuple[str, Message]] = field(default_factory=list)
    """(receiver, question) of every ask."""
    created: list[tuple[str, str]] = field(default_factory=list)
    """(name, `module:Class`) of every actor that the actor created."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self) -> None:
        """Something was sent, or has failed."""
        self._changed.set()

    async def wait_for_change(self, seconds: float) -> None:
        """Wait for the next one, at most so long."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            pass

    def clear(self) -> None:
        self.outbox.clear()
        self.asks.clear()
        self.created.clear()


class FakePort:
    """Implements `calls.Port`. What a task or timer raises waits for `raise_failures`."""

    last_end = LastEnd()

    def __init__(self, name: str, context: Any, incarnation: int, clock: VirtualClock) -> None:
        self.name, self.context, self.incarnation = ActorName(name), context, incarnation
        self.address: ActorAddress = Address(name)
        self.globalName = name
        self.sent = SentMessages()
        self.disposables = FakeDisposables()
        self.answers = FakeAnswers(clock, self.start_task)
        self.ended = False
        """A task with a recorded input has failed."""
        self._actor: ThespianActor | None = None
        self._timers = Timers(clock.call_later, self.run)
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: list[BaseException] = []

    def attach(self, actor: ThespianActor) -> None:
        """This is the port of that actor."""
        self._actor = actor
        actor._myRef = self

    # -- for the test ---------------------------------------------------------------------------------------------
    def question(self, sender: str) -> tuple[Address, asyncio.Future[Message]]:
        """The address of a question that `sender` asks the actor, and the future of its answer."""
        address = Address(sender, next(self._ids))
        reply = self._replies[address.ask] = asyncio.get_running_loop().create_future()
        reply.add_done_callback(lambda _: self._replies.pop(address.ask, None))
        return address, reply

    def run(self, call: Callable[[], Any], name: str) -> asyncio.Task[Any] | None:
        """Call the function; run a returned coroutine as a task."""
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - handed to the test
            self._failures.append(error)
            return None
        return self.start_task(_await(result), name) if inspect.isawaitable(result) else None

    def raise_failures(self) -> None:
        """Raise what tasks and timers have raised since the last call."""
        if self._failures:
            first, *rest = self._failures
            self._failures = []
            for other in rest:
                first.add_note(f"and also: {other!r}")
            raise first

    async def end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- messages -------------------------------------------------------------------------------------------------
    def actor_send(self, target: ActorAddress, message: Any, deadline: float = 10.0) -> None:
        if isinstance(message, Question):
            raise TypeError(f"{type(message).__name__} is a question: it is asked, not told")
        message = through_the_wire(message)
        reply = self._replies.get(getattr(target, "ask", 0))
        if reply is not None and not reply.done():
            reply.set_result(message)
        else:
            self.sent.outbox.append((str(target), message))
        self.sent.change()

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        message = through_the_wire(message)
        self.sent.asks.append((name, message))
        self.sent.change()
        return await self.answers.ask(name, message, timeout)

    def createActor(
        self, actor_class: type | str, requirements: Any, global_name: str | None, source_hash: str | None = None
    ) -> Address:
        name = global_name or class_name(actor_class)
        self.sent.created.append((name, class_name(actor_class)))
        return Address(name)

    def message_counts(self) -> list[MessageCount]:
        return []

    # -- timers and tasks -----------------------------------------------------------------------------------------
    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        return self._timers.after(seconds, call)

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        return self._timers.every(seconds, call, jitter, immediately)

    def wakeupAfter(self, period: Period, payload: Any = None) -> None:
        message = WakeupMessage(period, payload)
        self.after(seconds_of(period), lambda: self._receive(message))

    def _receive(self, message: WakeupMessage) -> Any:
        return None if self._actor is None else self._actor.receiveMessage(message, self.address)

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        steps = coroutine if record is None else Steps(coroutine, _OnRecord(self, record))
        task = asyncio.get_running_loop().create_task(steps, name=name or None)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        unexpected = RuntimeError(f"{task.get_name()} was cancelled, and nobody had asked for that")
        error = task.exception() if not task.cancelled() else None if task.cancelling() else unexpected
        if error is not None:
            self._failures.append(error)
            self.sent.change()

    def work_for(self, work: Work) -> None:
        pass

    def input_died(self) -> None:
        """A task that works for a recorded input has failed: a real process would have ended."""
        self.ended = True

    # -- disposable processes and sockets -------------------------------------------------------------------------
    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        return self.disposables.run(function, arguments)

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        return make()


class _OnRecord(StepObserver):
    """The steps of a task that works for an input. A real process would end after a failed step, and the record would
    stay."""

    def __init__(self, port: FakePort, record: InputRecord) -> None:
        self._port, self._record = port, record

    def step_started(self) -> None:
        if not self._port.ended:
            self._record.start()

    def step_ended(self) -> None:
        if not self._port.ended:
            self._record.end()

    def step_failed(self, error: BaseException) -> None:
        self._port.input_died()


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
