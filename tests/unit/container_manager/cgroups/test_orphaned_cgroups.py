"""Looking for orphaned cgroups."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from typing import Any

from actors.container_manager.cgroups.orphaned_cgroups import OrphanedCgroups
from actors.container_manager.context import ManagerContext
from supervision.repeated_warnings import RepeatedWarnings


class Timers:
    """The actor: its timers are due when the test says so."""

    def __init__(self) -> None:
        self.due: list[Callable[[], Any]] = []

    def after(self, seconds: float, call: Callable[[], Any]) -> None:
        self.due.append(call)


class Unreadable:
    """Cgroups of a host whose disk fails; an inventory that is complete."""

    complete = True

    def present(self) -> set[str]:
        raise OSError(errno.EIO, "Input/output error")


def test_while_cgroups_cannot_be_read_one_more_look_is_due_however_often_they_are_looked_for() -> None:
    actor: Any = Timers()
    host: Any = Unreadable()
    nobody: Any = None
    warnings = RepeatedWarnings(logging.getLogger("container_manager"))
    context = ManagerContext(actor, nobody, nobody, warnings)
    orphans = OrphanedCgroups(context, host, nobody, host, nobody)
    for _ in range(50):
        orphans.look()
    assert len(actor.due) == 1
    actor.due.pop()()
    assert len(actor.due) == 1, "it goes on"
