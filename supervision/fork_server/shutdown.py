"""The ordered stop: children in reverse start order, each before its supervisor, each within its budget."""

from __future__ import annotations

from collections.abc import Callable

from .process_entry import ProcessEntry
from .process_table import ProcessTable


class OrderedStop:
    """Ends one name after another; `finished` is called when none is left."""

    def __init__(
        self, table: ProcessTable, stop: Callable[[ProcessEntry, float], None], finished: Callable[[], None]
    ) -> None:
        self._stop, self._finished = stop, finished
        self._remaining = list(table)
        self._current: ProcessEntry | None = None

    def start(self) -> None:
        self._stop_next()

    def ended(self, child: ProcessEntry) -> None:
        """A process has been reaped."""
        if child is self._current:
            self._stop_next()

    def _stop_next(self) -> None:
        while self._remaining:
            child = self._remaining.pop()
            if child.alive:
                self._current = child
                self._stop(child, child.policy.shutdown_seconds)
                return
        self._current = None
        self._finished()


def is_whole(table: ProcessTable) -> bool:
    """Whether every name of the tree is in service."""
    return all(child.state == "running" for child in table if child.policy.restart == "permanent")
