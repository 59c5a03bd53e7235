"""Prepares the heap before the first fork, so that the processes share as much memory as possible."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable
from typing import Any

from ..class_names import load
from ..messaging.names import Names
from ..process.status_page import StatusPage
from ..protocol import FORK_SERVER
from . import memory_switches
from .heap_fill import fill_heap
from .memory_switches import is_on
from .page_release import PageRelease
from .warmup import warm_up

log = logging.getLogger(FORK_SERVER)


class SharedHeap:
    """The heap that the children inherit."""

    def __init__(
        self, names: Names, status_page: StatusPage, prepare: Iterable[str], hot_functions: Iterable[str] = ()
    ) -> None:
        """`prepare`: functions (`module:function`) that build what every actor needs. `hot_functions`: those
        of the application."""
        for word in memory_switches.unknown():
            log.warning("%s: there is no measure %s", memory_switches.VARIABLE, word)
        calls: list[Callable[[], Any]] = [load(name) for name in prepare]
        gc.freeze()  # a collection of all loaded modules takes longer than its gain is worth
        warm_up(names, status_page, calls, hot_functions)
        self._pages = PageRelease() if is_on("page_release") else None
        gc.collect()
        fill_heap()
        gc.freeze()
        gc.enable()
        self.release()

    def release(self) -> None:
        """Release pages that only the start needed; children call it too, after their start."""
        if self._pages is not None:
            self._pages.release()
