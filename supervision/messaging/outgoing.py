"""The messages that one process sends, and its questions: to the fork server by the uplink, to each actor by a link."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ..actor import Address, AskError
from ..addresses import ActorName
from ..message import Message
from ..protocol import FORK_SERVER
from ..time_scale import scaled
from .channel import Flusher
from .dead_letters import DEAD_LETTERS, DeadLetterRoute
from .links import Links
from .names import Names
from .outbox import QueuedMessage
from .payload import unwrap
from .questions import Questions
from .uplink import Uplink
from .wire import Frame, WireError, encode


class DeliveryReport(Protocol):
    """Learns what did not arrive, or arrived too late."""

    def not_delivered(self, name: str, reason: str) -> None:
        """Each message to `name` that was given up; called before anything else is done with it."""

    def dead_letter(self, name: str, message: Message, reason: str) -> None:
        """A tell that was given up, in a process whose dead letters go to the actor itself."""

    def late_answer(self) -> None: ...


class OutgoingMessages:
    """Sends; never blocks. `dynamic`: dead letters go to Thespian's dead-letter handler, not to `report`."""

    def __init__(
        self,
        name: ActorName,
        incarnation: int,
        names: Names,
        flusher: Flusher,
        uplink: Uplink,
        report: DeliveryReport,
        dynamic: bool,
    ) -> None:
        self.name, self._incarnation, self.names, self.flusher = name, incarnation, names, flusher
        self.loop = asyncio.get_running_loop()
        self._uplink, self._report = uplink, report
        self._links = Links(self)
        self._dead_letters = DeadLetterRoute(self) if dynamic else None
        self._questions = Questions(self.loop, incarnation)

    @property
    def waiting(self) -> int:
        """Messages that are not acknowledged yet."""
        return self._links.waiting

    @property
    def unsent(self) -> bool:
        """Whether bytes wait for a socket."""
        return (
            self._uplink.unsent or self._links.unsent or (self._dead_letters is not None and self._dead_letters.unsent)
        )

    def send(self, name: str, message: Message, deadline: float) -> None:
        """To another process of the tree. `deadline`: seconds until it is given up."""
        if name == FORK_SERVER:
            self._uplink.send(message)
        else:
            body = encode(self.name, message)
            self._links.to(name).send(
                QueuedMessage(message, body, self.loop.time() + scaled(deadline), 0, message.coalesce_key())
            )

    async def ask(self, name: str, message: Message, timeout: float) -> Message:
        """Send a question, wait for its answer. Raises AskTimeout after `timeout` seconds, AskError."""
        ask, timeout = self._questions.open(name), scaled(timeout)
        try:
            if name == FORK_SERVER:
                self._uplink.send(message, ask)
            else:
                body = encode(self.name, message, ask)
                self._links.to(name).send(QueuedMessage(message, body, self.loop.time() + timeout, ask))
        except WireError as error:
            self._questions.fail(ask, AskError(str(error)))
        try:
            return await self._questions.answer(ask, timeout)
        except AskError as error:
            raise type(error)(f"{name} was asked {type(message).__name__}: {error}") from None

    def handle_dead_letters(self, enable: bool) -> None:
        """Make this process Thespian's dead-letter handler, or no longer."""
        if enable:
            self.names.publish(self.name, self._incarnation, alias=DEAD_LETTERS)
        else:
            self.names.unpublish(self.name, self._incarnation, DEAD_LETTERS)

    # -- events of links and uplink -------------------------------------------------------------------------------
    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None:
        self._report.not_delivered(name, reason)
        if entry.ask:
            self._questions.fail(entry.ask, AskError(reason))
        elif self._dead_letters is None:
            self._report.dead_letter(name, entry.message, reason)
        elif name != DEAD_LETTERS:
            self._dead_letters.send(Address(name), unwrap(entry.message, objects=True))

    def answered(self, name: str, frame: Frame) -> None:
        if not self._questions.answered(frame):
            self._report.late_answer()

    def connection_closed(self, name: str, kept: set[int]) -> None:
        self._questions.connection_closed(name, kept)
