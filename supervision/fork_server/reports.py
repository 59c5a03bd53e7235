"""Reports the start and end of a child to its supervisor, and records faults."""

from __future__ import annotations

import logging
import time

from ..application import IncidentSink
from ..process_messages import BY_ORDER, FOUND, Exited, Started, ended_orderly
from ..protocol import FORK_SERVER
from .loop import Loop
from .process_entry import ProcessEntry
from .process_table import ProcessTable

log = logging.getLogger(FORK_SERVER)
_FLUSH_SECONDS = 5.0


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

    def started(self, child: ProcessEntry, started: Started) -> None:
        """The child is in service."""
        if not child.is_dynamic:
            self._tell_supervisor(child, started)
        if child.last_incident.closed():
            self._incidents.closed(started, child.last_incident.age(time.monotonic()))

    def record(self, child: ProcessEntry, exited: Exited) -> None:
        """Record the end of a process if it is an incident."""
        if not is_incident(child, exited):
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
