"""The open questions of one incarnation."""

from __future__ import annotations

import asyncio
import itertools

from ..errors import AskError, AskTimeout
from ..message import Message
from .wire import Frame, WireError


class Questions:
    """Open questions by number; an answer carries the number of its question."""

    def __init__(self, loop: asyncio.AbstractEventLoop, incarnation: int) -> None:
        self._loop = loop
        self._waiting: dict[int, tuple[str, asyncio.Future[Message]]] = {}
        # never the numbers of an earlier incarnation
        self._numbers = itertools.count((incarnation << 40) + 1)

    def open(self, name: str) -> int:
        """The number of a new question to the actor `name`."""
        number = next(self._numbers)
        self._waiting[number] = name, self._loop.create_future()
        return number

    async def answer(self, number: int, timeout: float) -> Message:
        """Wait for the answer to an open question. Raises AskTimeout after `timeout` seconds, AskError."""
        _, future = self._waiting[number]
        expire = self._loop.call_later(timeout, self.fail, number, AskTimeout(f"no answer within {timeout:g} s"))
        try:
            return await future
        finally:
            expire.cancel()
            self._waiting.pop(number, None)

    def answered(self, frame: Frame) -> bool:
        """Handle an answer; False: it came too late."""
        _, future = self._waiting.get(frame.answer, ("", None))
        if future is None or future.done():
            return False
        try:
            future.set_result(frame.message())
        except WireError as error:
            future.set_exception(AskError(str(error)))
        return True

    def connection_closed(self, name: str, kept: set[int]) -> None:
        """The connection to `name` is closed; only the questions in `kept` can still be answered."""
        for number, (receiver, _) in list(self._waiting.items()):
            if receiver == name and number not in kept:
                self.fail(number, AskError("it died before it answered"))

    def fail(self, number: int, error: AskError) -> None:
        """Fail the question: no answer will come."""
        _, future = self._waiting.get(number, ("", None))
        if future is not None and not future.done():
            future.set_exception(error)
