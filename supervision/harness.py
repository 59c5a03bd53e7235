"""Runs one actor in the test's event loop, with fake neighbours and a virtual clock.

    harness = Harness(Pleg, name="pleg", context=context)
    harness.answer(GetPods, PodList([]))
    async with harness:                                     # on_start has run
        assert await harness.deliver(Say("hi")) == Said("hi")   # the handler's answer
        await harness.advance(1.0)                          # runs what `every` and `after` made due
        event = await harness.wait_sent(PodEvent)           # its message to another actor, as received

Every message is encoded and decoded, as on the wire. `deliver` raises what a handler raises. What a task or timer
raises is raised by the next harness call, at the latest at the end of the block.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import socket
from collections.abc import Callable, Coroutine
from datetime import timedelta
from types import TracebackType
from typing import Any, Generic, TypeVar

from thespian.actors import Actor as ThespianActor
from thespian.actors import ActorAddress, WakeupMessage

from .actor import Actor, Address, Timer
from .class_names import class_name
from .fake_answers import Answer, FakeAnswers, through_the_wire
from .fake_disposables import DisposableFake, FakeDisposables
from .listeners import Make
from .message import Message, Question
from .protocol import MessageCount
from .steps import StepObserver, Steps
from .task_context import InputRecord, Work
from .timers import Timers
from .virtual_clock import VirtualClock

T = TypeVar("T", bound=Message)
A = TypeVar("A", bound=Actor)


class _OnRecord(StepObserver):
    """The steps of a task that works for an input. A real process would end after a failed step, and the record would
    stay."""

    def __init__(self, port: HarnessPort, record: InputRecord) -> None:
        self._port, self._record = port, record

    def step_started(self) -> None:
        if not self._port.ended:
            self._record.begin()

    def step_ended(self) -> None:
        if not self._port.ended:
            self._record.end()

    def step_failed(self, error: BaseException) -> None:
        self._port.ended = True


class HarnessPort:
    """The fake Port, to which the actor's calls are delegated."""

    def __init__(self, harness: Harness[Any], name: str, context: Any, incarnation: int) -> None:
        self._harness, self.name, self.context, self.incarnation = harness, name, context, incarnation
        self.address: ActorAddress = Address(name)
        self.globalName = name
        self._timers = Timers(harness.clock.call_later, self.run)
        self.ended = False
        """A task with a recorded input has failed."""

    def attach(self, actor: ThespianActor) -> None:
        """This is the port of that actor."""
        actor._myRef = self

    def actor_send(self, target: ActorAddress, message: Any, deadline: float = 10.0) -> None:
        if isinstance(message, Question):
            raise TypeError(f"{type(message).__name__} is a question: it is asked, not told")
        self._harness._record_sent(target, message)

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        return await self._harness._record_ask(name, message, timeout)

    def after(self, seconds: float, call: Callable[[], Any]) -> Timer:
        return self._timers.after(seconds, call)

    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer:
        return self._timers.every(seconds, call, jitter, immediately)

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        steps = coroutine if record is None else Steps(coroutine, _OnRecord(self, record))
        task = asyncio.get_running_loop().create_task(steps, name=name or None)
        self._harness._track(task)
        return task

    def work_for(self, work: Work) -> None:
        pass

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        return make()

    def message_counts(self) -> list[MessageCount]:
        return []

    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        return self._harness._fakes.run(function, arguments)

    def createActor(
        self, actor_class: type | str, requirements: Any, global_name: str | None, source_hash: str | None = None
    ) -> Address:
        name = global_name or class_name(actor_class)
        self._harness.created.append((name, class_name(actor_class)))
        return Address(name)

    def wakeupAfter(self, period: timedelta, payload: Any = None) -> None:
        message = WakeupMessage(period, payload)
        self.after(period.total_seconds(), lambda: self._harness.actor.receiveMessage(message, self.address))

    def run(self, call: Callable[[], Any], name: str) -> asyncio.Task[Any] | None:
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - handed to the test
            self._harness._failures.append(error)
            return None
        return self.start_task(_await(result), name) if inspect.isawaitable(result) else None


class Harness(Generic[A]):
    """An actor and its whole environment."""

    def __init__(
        self,
        actor_class: type[A],
        *,
        name: str = "actor",
        context: Any = None,
        arguments: dict[str, Any] | None = None,
        incarnation: int = 1,
        clock: VirtualClock | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.outbox: list[tuple[str, Message]] = []
        """(receiver, message) of every tell, oldest first, without the answers to `deliver`."""
        self.asks: list[tuple[str, Message]] = []
        """(receiver, question) of every ask."""
        self.created: list[tuple[str, str]] = []
        """(name, `module:Class`) of every actor that the actor created."""
        self._fakes = FakeDisposables()
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: list[BaseException] = []
        self._changed = asyncio.Event()
        self.port = HarnessPort(self, name, context, incarnation)
        self._answers = FakeAnswers(self.clock, self.port.start_task)
        self.actor = actor_class(**(arguments or {}))
        self.port.attach(self.actor)

    @property
    def disposables(self) -> dict[str, DisposableFake]:
        """The fakes by `module:function`; a test adds its own."""
        return self._fakes.fakes

    @property
    def disposed(self) -> list[tuple[str, dict[str, Any]]]:
        """(function, arguments) of every disposable."""
        return self._fakes.calls

    # -- life -----------------------------------------------------------------------------------------------------
    async def __aenter__(self) -> Harness[A]:
        await asyncio.wait_for(self.actor.on_start(), 10)
        self._raise_failures()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.settle(check=error is None)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if error is None:
            self._raise_failures()

    async def stop(self) -> None:
        """An orderly stop: runs on_stop."""
        await asyncio.wait_for(self.actor.on_stop(), 10)

    # -- input -----------------------------------------------------------------------------------------------------
    def answer(self, question: type[Message], answer: Answer, *, name: str | None = None) -> None:
        """Set the answer to questions of that type (to `name` only, if given). Those that wait are answered now."""
        self._answers.set(question, answer, name)

    async def deliver(self, message: Any, sender: str = "test", *, timeout: float = 5.0) -> Any:
        """Deliver a message, wait until its handler has ended, return its answer (or None).

        Raises the handler's exception, TimeoutError when it takes more than `timeout` real seconds.
        """
        address = Address(sender, next(self._ids))
        reply = self._replies[address.ask] = asyncio.get_running_loop().create_future()
        try:
            result = self.actor.receiveMessage(through_the_wire(message), address)
            if inspect.isawaitable(result):
                await self._in_time(result, timeout, message)
            self._raise_failures()
            return reply.result() if reply.done() else None
        finally:
            self._replies.pop(address.ask, None)

    async def ask(self, message: Message, sender: str = "test", *, timeout: float = 5.0) -> Any:
        """Like `deliver`, but wait for an answer that comes after the handler has ended."""
        address = Address(sender, next(self._ids))
        reply = self._replies[address.ask] = asyncio.get_running_loop().create_future()
        try:
            self.port.run(lambda: self.actor.receiveMessage(through_the_wire(message), address), "handler")
            return await self._in_time(reply, timeout, message)
        finally:
            self._replies.pop(address.ask, None)

    def post(self, message: Any, sender: str = "test", *, timeout: float = 60.0) -> asyncio.Task[Any]:
        """`deliver` as a task, for handlers that wait for something that the test does next."""
        return asyncio.get_running_loop().create_task(self.deliver(message, sender, timeout=timeout))

    async def advance(self, seconds: float) -> None:
        """Move the clock: run the timers that become due, in order, and the tasks that they start."""
        until = self.clock.now + seconds
        await self.settle()
        while call := self.clock.pop_due(until):
            call()
            await self.settle()

    async def settle(self, *, check: bool = True) -> None:
        """Run everything that needs neither time nor outside input."""
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        for _ in range(200 if ready is not None else 20):
            await asyncio.sleep(0)
            if ready is not None and not ready:
                break
        if check:
            self._raise_failures()

    # -- output ---------------------------------------------------------------------------------------------------
    def sent(self, message_type: type[T], to: str | None = None) -> list[T]:
        """The messages of that type to other actors (only `to`, if given), oldest first."""
        return [m for name, m in self.outbox if type(m) is message_type and to in (None, name)]

    async def wait_sent(
        self,
        message_type: type[T],
        *,
        to: str | None = None,
        where: Callable[[T], bool] = lambda _: True,
        count: int = 1,
        timeout: float = 5.0,
    ) -> T:
        """Wait until `count` matching messages were sent, including earlier ones in the outbox; returns the count-th.

        Raises AssertionError after `timeout` real seconds.
        """
        found: list[T] = []

        def enough() -> bool:
            found[:] = [m for m in self.sent(message_type, to) if where(m)]
            return len(found) >= count

        await self.wait(enough, f"{count} x {message_type.__name__} told to {to or 'anyone'}", timeout=timeout)
        return found[count - 1]

    async def wait(self, condition: Callable[[], bool], what: str = "condition", *, timeout: float = 5.0) -> None:
        """Wait until it holds, looking after every message sent and every 10 ms. AssertionError after `timeout`."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:
            self._raise_failures()
            self._changed.clear()
            if condition():
                return
            if loop.time() > end:
                sent_types = [(name, type(m).__name__) for name, m in self.outbox]
                raise AssertionError(f"no {what} within {timeout} s; told: {sent_types}; {self._answers.unanswered()}")
            try:
                await asyncio.wait_for(self._changed.wait(), 0.01)
            except TimeoutError:
                pass

    def clear(self) -> None:
        """Clear the lists of messages, questions and disposables."""
        self.outbox.clear()
        self.asks.clear()
        self.created.clear()
        self._fakes.calls.clear()

    # -- the fake port --------------------------------------------------------------------------------------------
    def _record_sent(self, target: ActorAddress, message: Any) -> None:
        message = through_the_wire(message)
        reply = self._replies.get(getattr(target, "ask", 0))
        if reply is not None and not reply.done():
            reply.set_result(message)
        else:
            self.outbox.append((str(target), message))
        self._changed.set()

    async def _record_ask(self, name: str, message: Message, timeout: float) -> Message:
        message = through_the_wire(message)
        self.asks.append((name, message))
        self._changed.set()
        return await self._answers.ask(name, message, timeout)

    def _track(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        unexpected = RuntimeError(f"{task.get_name()} was cancelled, and nobody had asked for that")
        error = task.exception() if not task.cancelled() else None if task.cancelling() else unexpected
        if error is not None:
            self._failures.append(error)
            self._changed.set()

    async def _in_time(self, awaitable: Any, timeout: float, message: Any) -> Any:
        try:
            return await asyncio.wait_for(awaitable, timeout)
        except TimeoutError as error:
            self._raise_failures()
            text = f"the handler of {type(message).__name__} is still waiting after {timeout} s"
            raise TimeoutError(f"{text}; {self._answers.unanswered()}") from error

    def _raise_failures(self) -> None:
        if self._failures:
            first, *rest = self._failures
            self._failures = []
            for other in rest:
                first.add_note(f"and also: {other!r}")
            raise first


async def _await(awaitable: Any) -> Any:
    return await awaitable
