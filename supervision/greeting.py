"""Whom an actor says Hello, and when: once it is in service, and after an injected fault has dropped messages for it.

What a feeder tells on change only would otherwise stay unknown to the actor. A message that expires at its sender, or
comes from an actor that is no feeder, is not asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .addresses import ActorName
from .message import Message
from .protocol import Hello

DEADLINE_SECONDS = 30.0
AGAIN_SECONDS = 5.0
"""After a loss. The losses within this time are one; a loss of the answers is followed by another Hello."""


class Tell(Protocol):
    """`Actor.tell`."""

    def __call__(self, name: ActorName, message: Message, *, deadline: float) -> None: ...


class Greeting:
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

    def say(self) -> None:
        """Each feeder sends its current state again."""
        self._is_due = False
        for feeder in self._feeders:
            self._tell(feeder, self._hello, deadline=DEADLINE_SECONDS)

    def message_lost(self) -> None:
        """Say it again in a while."""
        if not self._is_due:
            self._is_due = True
            self._call_later(AGAIN_SECONDS, self.say)
