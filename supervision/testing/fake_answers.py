"""The answers that a test gives to the questions of the actor in its harness."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ..actor import AskError, AskTimeout
from ..message import Message, registered, type_name
from .virtual_clock import VirtualClock

Answer = Message | BaseException | Callable[[Any], Any]
"""A message, an exception to raise (AskError), or a function of the question that returns or raises one, which may be a
coroutine function; None from it means no answer."""


class FakeAnswers:
    """Questions without an answer wait for one, or for their timeout."""

    def __init__(self, clock: VirtualClock, start_task: Callable[[Coroutine[Any, Any, Any], str], Any]) -> None:
        self._clock, self._start_task = clock, start_task
        self._answers: dict[tuple[type, str | None], Answer] = {}
        self._waiting: list[tuple[str, Message, asyncio.Future[Message]]] = []

    def set(self, question: type[Message], answer: Answer, name: str | None) -> None:
        """For questions of that type, to `name` only if given. Those that wait are answered now."""
        self._answers[question, name] = answer
        waiting, self._waiting = self._waiting, []
        for receiver, message, future in waiting:
            if not future.done():
                self._resolve(receiver, message, future)

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        """The answer of the actor of that name. Raises AskError; AskTimeout after `timeout` virtual seconds."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        expire = self._clock.call_later(timeout, lambda: _expire(future, name, message, timeout))
        self._resolve(name, message, future)
        try:
            return await future
        finally:
            expire.cancel()

    def unanswered(self) -> str:
        """The waiting questions, as text for an error."""
        waiting = [f"{type(m).__name__} to {name}" for name, m, future in self._waiting if not future.done()]
        return f"unanswered asks: {waiting}"

    def _resolve(self, name: str, message: Message, future: asyncio.Future[Message]) -> None:
        answer = self._answers.get((type(message), name), self._answers.get((type(message), None)))
        if answer is None:
            self._waiting.append((name, message, future))
        else:
            self._start_task(_settle(answer, message, future), f"answer to {type(message).__name__}")


def through_the_wire(message: Any) -> Any:
    """The message after encoding and decoding. Raises TypeError if it is not registered or cannot be read back."""
    if not isinstance(message, Message):
        return message
    kind = type(message)
    if registered(type_name(kind)) is not kind:
        raise TypeError(f"{type_name(kind)} is not a registered message type: another class took its name")
    return msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=kind)


def _expire(future: asyncio.Future[Message], name: str, message: Message, timeout: float) -> None:
    if not future.done():
        future.set_exception(AskTimeout(f"{name} did not answer {type(message).__name__} within {timeout:g} s"))


async def _settle(answer: Answer, message: Message, future: asyncio.Future[Message]) -> None:
    try:
        result = answer(message) if callable(answer) and not isinstance(answer, Message) else answer
        if inspect.isawaitable(result):
            result = await result
        if isinstance(result, BaseException):
            raise result
    except AskError as error:
        if not future.done():
            future.set_exception(error)
        return
    if result is not None and not future.done():
        future.set_result(through_the_wire(result))
