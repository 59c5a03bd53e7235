"""When an actor says Hello to its feeders: once it is in service, and after an injected fault has dropped messages to
it.

A feeder sends its state only on change: without the Hello the actor would never learn it. A message that expires at its
sender, or comes from another actor than a feeder, is not asked for again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..addresses import ActorName
from ..message import Message
from ..process_messages import Hello

DEADLINE_SECONDS = 30.0
AGAIN_SECONDS = 5.0
"""The time from a loss to the Hello. Losses within it cause one Hello. If the answers are lost too, another follows."""


class Tell(Protocol):
    """`Actor.tell`."""

    def __call__(self, name: ActorName, message: Message, *, deadline: float) -> None: ...


class HelloSender:
    """Says Hello to the feeders of one actor."""

    def __init__(
        self,
        hello: Hello,
        feeders: Sequence[ActorName],
        tell: Tell,
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._hello, self._feeders, self._tell, self._call_later = hello, feeders, tell, call_later
        self._is_due = False

    def send(self) -> None:
        """Each feeder sends its current state again."""
        self._is_due = False
        for feeder in self._feeders:
            self._tell(feeder, self._hello, deadline=DEADLINE_SECONDS)

    def message_lost(self) -> None:
        """Say Hello again after a pause."""
        if not self._is_due:
            self._is_due = True
            self._call_later(AGAIN_SECONDS, self.send)
