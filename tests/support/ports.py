"""One actor with a neighbour, on the harness and on the real port, behind one interface: for the contract suite."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

from supervision.actor import Actor
from supervision.addresses import ActorName
from supervision.message import Message
from supervision.messaging.channel import Flusher
from supervision.messaging.inbox import Inbox, serve
from supervision.messaging.names import Names
from supervision.messaging.uplink import Uplink
from supervision.messaging.wire import Frame
from supervision.process.actor_runner import ActorRunner
from supervision.process.incarnation import Incarnation
from supervision.process.port import ActorPort, MessageConnections
from supervision.process.status_page import StatusPage
from supervision.testing.harness import Harness


class World(Protocol):
    """What a test of the contract can do; the neighbour is called `neighbour`."""

    failures: list[BaseException]
    actor: Actor

    async def deliver(self, message: Message) -> Message | None: ...
    async def pass_time(self, seconds: float) -> None: ...
    async def received(self, count: int) -> list[Message]: ...


class Crashed(BaseException):
    """Ends the code that crashed, as the end of its process would."""


class _End:
    def __init__(self) -> None:
        self.failures: list[BaseException] = []

    def crash(self, message: str, error: BaseException) -> NoReturn:
        self.failures.append(error)
        raise Crashed

    def exit(self, status: int) -> NoReturn:
        raise Crashed


class _Node:
    """A real port in this process, without a fork server."""

    def __init__(self, name: ActorName, names: Names, actor: Actor, status_page: StatusPage) -> None:
        self.end = _End()
        self.loop = asyncio.get_running_loop()
        self.flusher = Flusher(self.loop)
        runner = ActorRunner(self.flusher, status_page.take(), self.end)
        self.name, self._names, self.runner, self.actor = name, names, runner, actor
        self._inbox = Inbox(self)
        self.port = ActorPort(name, Incarnation(1), None, runner, MessageConnections(names, self._inbox, Uplink(self)))
        self.port.attach(actor)

    async def start(self) -> None:
        await self.actor.on_start()
        self.server = await serve(self._inbox, self.flusher, self._names.listen(self.name, 1))
        self._names.publish(self.name, 1)
        self._inbox.open_up()

    def dispatch(self, message: Any, sender: Any) -> None:
        with contextlib.suppress(Crashed):
            self.runner.call(lambda: self.actor.receiveMessage(message, sender), type(message).__name__)

    def count_refused(self, error: Exception) -> None:
        raise error

    def crash(self, message: str, error: BaseException) -> None:
        raise error

    def answered(self, name: str, frame: Frame) -> None:
        """There is no fork server."""

    def ordered(self, message: Message) -> None:
        """There is no fork server."""

    def orphaned(self) -> None:
        """There is no fork server."""


class Neighbour(Actor):
    """Keeps what it is told; answers what `answers` has an answer for."""

    def __init__(self, answers: dict[type, Message]) -> None:
        super().__init__()
        self.received: list[Message] = []
        self.answers = answers

    def receiveMessage(self, message: Any, sender: Any) -> Any:
        answer = self.answers.get(type(message))
        if answer is not None:
            self.send(sender, answer)
        elif not sender.ask:
            self.received.append(message)


class RealWorld:
    def __init__(self, node: _Node, neighbour: _Node) -> None:
        self._node, self._neighbour = node, neighbour
        self.actor = node.actor
        self.failures = node.end.failures

    async def deliver(self, message: Message) -> Message | None:
        return await self._neighbour.port.ask(self._node.port.name, message, 2.0)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def received(self, count: int) -> list[Message]:
        told = self._neighbour.actor.received  # type: ignore[attr-defined]
        for _ in range(500):
            if len(told) >= count:
                break
            await asyncio.sleep(0.002)
        return list(told)


class HarnessWorld:
    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.actor = harness.actor
        self.failures: list[BaseException] = []

    async def deliver(self, message: Message) -> Message | None:
        answer: Message | None = await self._catch(self._harness.deliver(message, "neighbour"))
        return answer

    async def pass_time(self, seconds: float) -> None:
        await self._catch(self._harness.advance(seconds))

    async def received(self, count: int) -> list[Message]:
        return [message for name, message in self._harness.outbox if name == "neighbour"]

    async def _catch(self, awaitable: Any) -> Any:
        try:
            return await awaitable
        except ZeroDivisionError as error:
            self.failures.append(error)
            return None


@contextlib.asynccontextmanager
async def world(kind: str, directory: Path, actor: Actor, answers: dict[type, Message]) -> AsyncIterator[World]:
    """`kind`: `harness` or `real`. The actor is made from the class of `actor` in the harness."""
    if kind == "harness":
        harness = Harness(type(actor), name="actor")
        for question, answer in answers.items():
            harness.answer(question, answer)
        async with harness:
            yield HarnessWorld(harness)
        return
    names, status_page = Names(directory / "names"), StatusPage(2)
    actors = {"neighbour": Neighbour(answers), "actor": actor}
    nodes = [_Node(ActorName(name), names, each, status_page) for name, each in actors.items()]
    for node in nodes:
        await node.start()
    try:
        yield RealWorld(nodes[1], nodes[0])
    finally:
        for node in nodes:
            node.server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        os.close(names.fd)
