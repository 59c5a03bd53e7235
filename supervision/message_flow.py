"""Counts the messages that reach a process, by sender and type.

One addition for each message; read only when somebody asks (GetMessageFlow). Answers are not counted, nor is what goes
to the fork server.
"""

from __future__ import annotations

from typing import Final

from .message import Message, type_name
from .protocol import GetMessageFlow, MessageCount

CLIENTS: Final = "client"
"""All processes outside the tree, such as command lines, each of which has a name of its own."""
OTHERS: Final = "others"
MOST_SENDERS: Final = 256
"""Further ones are counted together: a sender chooses its name."""


class MessageFlow:
    """The counts of one incarnation."""

    def __init__(self) -> None:
        self._senders: dict[str, dict[type[Message], int]] = {}

    def count(self, sender: str, kind: type[Message]) -> None:
        try:
            self._senders[sender][kind] += 1
        except KeyError:
            self._count_first(sender, kind)

    def _count_first(self, sender: str, kind: type[Message]) -> None:
        if sender.startswith(f"{CLIENTS}-"):
            sender = CLIENTS
        elif sender not in self._senders and len(self._senders) >= MOST_SENDERS:
            sender = OTHERS
        kinds = self._senders.setdefault(sender, {})
        kinds[kind] = kinds.get(kind, 0) + 1

    def counts(self) -> list[MessageCount]:
        """All of them, in the order of their first messages, but for the questions after them."""
        return [
            MessageCount(sender, type_name(kind).rpartition(".")[2], number)
            for sender, kinds in self._senders.items()
            for kind, number in kinds.items()
            if kind is not GetMessageFlow
        ]
