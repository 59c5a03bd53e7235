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
import contextlib
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

from ..actor import Actor
from ..message import Message
from .fake_answers import Answer, through_the_wire
from .fake_disposables import DisposableFake
from .fake_port import FakePort
from .virtual_clock import VirtualClock

T = TypeVar("T", bound=Message)
A = TypeVar("A", bound=Actor)


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
        self.port = FakePort(name, context, incarnation, self.clock)
        self.actor = actor_class(**(arguments or {}))
        self.port.attach(self.actor)

    @property
    def outbox(self) -> list[tuple[str, Message]]:
        """(receiver, message) of every tell, oldest first, without the answers to `deliver`."""
        return self.port.sent.outbox

    @property
    def asks(self) -> list[tuple[str, Message]]:
        """(receiver, question) of every ask."""
        return self.port.sent.asks

    @property
    def created(self) -> list[tuple[str, str]]:
        """(name, `module:Class`) of every actor that the actor created."""
        return self.port.sent.created

    @property
    def disposables(self) -> dict[str, DisposableFake]:
        """The fakes by `module:function`; a test adds its own."""
        return self.port.disposables.fakes

    @property
    def disposed(self) -> list[tuple[str, dict[str, Any]]]:
        """(function, arguments) of every disposable."""
        return self.port.disposables.calls

    # -- start and stop --------------------------------------------------------------------------------------------
    async def __aenter__(self) -> Harness[A]:
        await asyncio.wait_for(self.actor.on_start(), 10)
        self.port.raise_failures()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.settle(check=error is None)
        if error is not None:  # a server of grpc.aio that nobody stops blocks the collector of garbage for ever
            with contextlib.suppress(Exception):
                await self.stop()
        await self.port.end_tasks()
        if error is None:
            self.port.raise_failures()

    async def stop(self) -> None:
        """An orderly stop: runs on_stop."""
        await asyncio.wait_for(self.actor.on_stop(), 10)

    # -- input -----------------------------------------------------------------------------------------------------
    def answer(self, question: type[Message], answer: Answer, *, name: str | None = None) -> None:
        """Set the answer to questions of that type (to `name` only, if given). Those that wait are answered now."""
        self.port.answers.set(question, answer, name)

    async def deliver(self, message: Any, sender: str = "test", *, timeout: float = 5.0) -> Any:
        """Deliver a message, wait until its handler has ended, return its answer (or None).

        Raises the handler's exception, TimeoutError when it takes more than `timeout` real seconds.
        """
        address, reply = self.port.question(sender)
        try:
            result = self.actor.receiveMessage(through_the_wire(message), address)
            if inspect.isawaitable(result):
                await self._in_time(result, timeout, message)
            self.port.raise_failures()
            return reply.result() if reply.done() else None
        finally:
            reply.cancel()

    async def ask(self, message: Message, sender: str = "test", *, timeout: float = 5.0) -> Any:
        """Like `deliver`, but wait for an answer that comes after the handler has ended."""
        address, reply = self.port.question(sender)
        try:
            self.port.run(lambda: self.actor.receiveMessage(through_the_wire(message), address), "handler")
            return await self._in_time(reply, timeout, message)
        finally:
            reply.cancel()

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
            self.port.raise_failures()

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
            self.port.raise_failures()
            if condition():
                return
            if loop.time() > end:
                sent_types = [(name, type(m).__name__) for name, m in self.outbox]
                raise AssertionError(
                    f"no {what} within {timeout} s; told: {sent_types}; {self.port.answers.unanswered()}"
                )
            await self.port.sent.wait_for_change(0.01)

    def clear(self) -> None:
        """Clear the lists of messages, questions and disposables."""
        self.port.sent.clear()
        self.port.disposables.calls.clear()

    async def _in_time(self, awaitable: Any, timeout: float, message: Any) -> Any:
        try:
            return await asyncio.wait_for(awaitable, timeout)
        except TimeoutError as error:
            self.port.raise_failures()
            text = f"the handler of {type(message).__name__} is still waiting after {timeout} s"
            raise TimeoutError(f"{text}; {self.port.answers.unanswered()}") from error
