"""Counts the messages that reach a process, by sender and type.

It costs one addition for each message; the counts are read only on GetMessageFlow. Answers and messages to the fork
server are not counted.
"""

from __future__ import annotations

from typing import Final

from ..message import Message, type_name
from ..protocol import GetMessageFlow, MessageCount

CLIENTS: Final = "client"
"""The sender under which all processes outside the tree are counted, because each command line has its own name."""
OTHERS: Final = "others"
MOST_SENDERS: Final = 256
"""Further senders are counted together as OTHERS: a sender chooses its name, so there may be any number."""


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
        """All counts except those of GetMessageFlow, in the order of the first messages."""
        return [
            MessageCount(sender, type_name(kind).rpartition(".")[2], number)
            for sender, kinds in self._senders.items()
            for kind, number in kinds.items()
            if kind is not GetMessageFlow
        ]
