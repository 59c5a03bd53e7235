"""The calls of an actor that its system base implements: once for the actor's process, once for the harness."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from thespian.actors import ActorAddress

from .addresses import ActorName
from .listeners import Make
from .message import Message
from .process_messages import LastEnd
from .protocol import MessageCount
from .task_context import InputRecord, Work


class Timer(Protocol):
    """The handle that `after` and `every` return."""

    def cancel(self) -> None: ...


class Port(Protocol):
    """Implemented by `port.ActorPort` and `fake_port.FakePort`."""

    name: ActorName
    incarnation: int
    last_end: LastEnd
    context: Any
    address: ActorAddress

    def actor_send(self, target: ActorAddress, message: Any, deadline: float = 10.0) -> None: ...
    async def ask(self, name: str, message: Message, timeout: float) -> Message: ...
    def after(self, seconds: float, call: Callable[[], Any]) -> Timer: ...
    def every(self, seconds: float, call: Callable[[], Any], jitter: float, immediately: bool) -> Timer: ...
    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]: ...
    def work_for(self, work: Work) -> None: ...
    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any: ...
    def listen(self, label: str, make: Make) -> list[socket.socket]: ...
    def message_counts(self) -> list[MessageCount]: ...
