"""The parts of the fork server that orders and questions are about."""

from __future__ import annotations

from dataclasses import dataclass

from .disposables import Disposables
from .lifecycle import ForkServerLifecycle
from .own_disks import OwnDisks
from .process_table import ProcessTable
from .processes import ChildProcesses


@dataclass(frozen=True)
class ForkServerParts:
    """Made once, by the fork server."""

    table: ProcessTable
    processes: ChildProcesses
    disposables: Disposables
    lifecycle: ForkServerLifecycle
    disks: OwnDisks
