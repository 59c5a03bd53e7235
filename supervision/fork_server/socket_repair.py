"""Repairs sockets of actors that were removed from the run directory."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..messaging.names import Names, NoSuchActor
from ..process_messages import Cause
from ..protocol import FORK_SERVER
from .process_entry import ProcessEntry
from .process_table import ProcessTable

log = logging.getLogger(FORK_SERVER)


def restore(names: Names, table: ProcessTable, kill: Callable[[ProcessEntry, Cause, str], None]) -> None:
    """Publish each actor's name again from its socket, or replace the actor when that is gone too. Raises OSError."""
    for child in table:
        if child.state != "running" or child.kind == "program":
            continue
        try:
            if names.restore(child.name, child.incarnation):
                log.warning("somebody removed a socket of %s from %s: it is made again", child.name, names.path)
        except NoSuchActor:
            kill(child, "name_removed", f"somebody removed its sockets from {names.path}")
