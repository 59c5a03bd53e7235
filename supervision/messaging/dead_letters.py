"""Where the dead letters of one process go: to the actor that called Thespian's handleDeadLetters last, if any."""

from __future__ import annotations

from typing import Any, Protocol

from thespian.actors import ActorAddress, DeadEnvelope

from .link import Link, LinkOwner
from .outbox import QueuedMessage
from .payload import wrap
from .wire import encode

DEAD_LETTERS = "dead~letters"
"""The alias of Thespian's dead-letter handler."""
_LETTER_SECONDS = 1.0


class LetterOwner(LinkOwner, Protocol):
    """The actor's process."""

    @property
    def name(self) -> str: ...


class DeadLetterRoute:
    """The link to the handler. Another actor may take the alias at any time, so it is resolved for each letter."""

    def __init__(self, owner: LetterOwner) -> None:
        self._owner = owner
        self._handler = 0
        self._link: Link | None = None

    def send(self, to: ActorAddress, payload: Any) -> None:
        """Send what did not reach `to` to the current handler. Without one it is dropped."""
        self._find_handler()
        if self._link is not None:
            message = wrap(DeadEnvelope(to, payload), objects=True)
            body = encode(self._owner.name, message)
            self._link.send(QueuedMessage(message, body, self._owner.loop.time() + _LETTER_SECONDS))

    def _find_handler(self) -> None:
        handler = self._owner.names.identity(DEAD_LETTERS)
        if handler != self._handler:
            if self._link is not None:
                self._link.retire()
            self._handler, self._link = handler, Link(self._owner, DEAD_LETTERS) if handler else None

    @property
    def unsent(self) -> bool:
        return self._link is not None and self._link.unsent
