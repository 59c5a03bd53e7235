"""Prepares the heap before the first fork, so that the processes share as much memory as possible."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable
from typing import Any

from ..names import Names
from ..process import load
from ..protocol import FORK_SERVER
from ..status_page import StatusPage
from . import heap_fill, memory_switches
from .code_layout import functions
from .memory_switches import is_on
from .page_release import PageRelease
from .warmup import warm_up

log = logging.getLogger(FORK_SERVER)


class SharedMemory:
    """The heap that the children inherit."""

    def __init__(self, names: Names, status_page: StatusPage, prepare: Iterable[str]) -> None:
        """`prepare`: functions (`module:function`) that build what every actor needs."""
        for word in memory_switches.unknown():
            log.warning("%s: no measure is called %s", memory_switches.VARIABLE, word)
        calls: list[Callable[[], Any]] = [load(name) for name in prepare]
        loaded = functions() if is_on("code_layout") else []
        gc.freeze()  # a collection of all loaded modules takes longer than its gain is worth
        warm_up(names, status_page, calls, loaded)
        del loaded
        self._pages = PageRelease() if is_on("page_release") else None
        gc.collect()
        self._fillers = heap_fill.fill() if is_on("heap_fill") else []
        gc.freeze()
        gc.enable()
        self.release()

    def release(self) -> None:
        """Release pages that only the start needed; children call it too, after their start."""
        if self._pages is not None:
            self._pages.give_back()
