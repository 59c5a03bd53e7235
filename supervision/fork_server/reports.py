"""Reports the start and end of a child to its supervisor, and records faults."""

from __future__ import annotations

import logging
import os
import signal
import time
from typing import Final

import msgspec

from ..application import IncidentSink
from ..process_messages import (
    BY_ORDER,
    EXIT_EXCEPTION,
    FOUND,
    Cause,
    Exited,
    Started,
    ended_orderly,
    never_ran,
)
from ..protocol import FORK_SERVER
from .loop import Loop
from .process_entry import ProcessEntry
from .process_table import ProcessTable

log = logging.getLogger(FORK_SERVER)
_FLUSH_SECONDS = 5.0
_ASKED: Final[tuple[Cause, ...]] = ("stopped", "restarting")
"""The causes of ends before which a child is asked to stop."""
_OF_A_STOP: Final = (signal.SIGKILL, signal.SIGTERM)
"""Signals that end a child which is ordered to stop; others are of a fault of its own."""


def as_recorded(child: ProcessEntry, exited: Exited) -> Exited:
    """The end as the incident record has it: an actor that fails while it stops has failed. For its supervisor it has
    stopped."""
    if exited.cause not in _ASKED or child.spec.program or not exited.pid:
        return exited
    status = exited.status
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == EXIT_EXCEPTION:
        return msgspec.structs.replace(exited, cause="exception")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) not in _OF_A_STOP:
        return msgspec.structs.replace(exited, cause="signal")
    return exited


def is_incident(child: ProcessEntry, exited: Exited) -> bool:
    """Whether an end is a fault: it had no order, and it is not normal for its restart type."""
    if exited.cause in BY_ORDER:
        return False
    if ended_orderly(exited):
        return child.policy.restart == "permanent"
    return True


def inherits_sockets(child: ProcessEntry, exited: Exited) -> bool:
    """Whether the next incarnation inherits the listening sockets: after a fault of the child or of its supervisor.

    After an orderly end it does not, as the addresses may change."""
    return exited.cause == "parent" or is_incident(child, exited)


def _reason(exited: Exited) -> str:
    """What the fork server itself found: a detail of its own, never of an exception, which may show an input."""
    return f": {exited.detail.partition(chr(10))[0]}" if exited.cause in FOUND and exited.detail else ""


class Reports:
    """Reports to supervisors and to the incident record."""

    def __init__(self, loop: Loop, table: ProcessTable, incidents: IncidentSink) -> None:
        self._loop, self._table, self._incidents = loop, table, incidents
        self._flush()

    def _flush(self) -> None:
        self._incidents.flush()
        self._loop.call_later(_FLUSH_SECONDS, self._flush)

    def end(self) -> None:
        """Write what waits, as far as the disk takes it."""
        self._incidents.end()

    def started(self, child: ProcessEntry, started: Started) -> None:
        """The child is in service."""
        if not child.is_dynamic:
            self._tell_supervisor(child, started)
        if child.last_incident.closed():
            self._incidents.closed(started, child.last_incident.age(time.monotonic()))

    def record(self, child: ProcessEntry, exited: Exited) -> None:
        """Record the end of a process if it is an incident. A fork that fails after a fault is part of that fault."""
        exited = as_recorded(child, exited)
        if not is_incident(child, exited) or (never_ran(exited) and child.last_incident.is_open):
            return
        child.last_incident.opened(exited.cause, time.monotonic())
        on = f" on {exited.message}" if exited.message else ""
        log.error("%s ended: %s%s%s", child.name, exited.cause, on, _reason(exited))
        self._incidents.opened(exited)

    def own(self, exited: Exited) -> None:
        """Record an incident of the fork server itself."""
        self._incidents.opened(exited)

    def exited(self, child: ProcessEntry, exited: Exited) -> None:
        """Report the end to its supervisor, if that is still the incarnation that ordered the process.

        The next incarnation has ordered a process of its own, which waits while this one is slow to end."""
        supervisor = self._table.get(child.parent)
        if supervisor is not None and supervisor.incarnation == child.ordered_by:
            self._tell_supervisor(child, exited)

    def _tell_supervisor(self, child: ProcessEntry, fact: Started | Exited) -> None:
        supervisor = self._table.get(child.parent)
        if supervisor is not None and supervisor.process.uplink is not None:
            supervisor.process.uplink.send(fact)
