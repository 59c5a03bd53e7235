"""What is done before the first fork, so that the processes share as much memory as they can."""

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
    """The heap as the children find it."""

    def __init__(self, names: Names, status_page: StatusPage, prepare: Iterable[str]) -> None:
        """`prepare`: functions (`module:function`) that make what every actor would make by itself."""
        for word in memory_switches.unknown():
            log.warning("%s: no measure is called %s", memory_switches.VARIABLE, word)
        calls: list[Callable[[], Any]] = [load(name) for name in prepare]
        loaded = functions() if is_on("code_layout") else []
        gc.freeze()  # to go through what was loaded once more takes longer than its garbage is worth
        warm_up(names, status_page, calls, loaded)
        del loaded
        self._pages = PageRelease() if is_on("page_release") else None
        gc.collect()
        self._fillers = heap_fill.fill() if is_on("heap_fill") else []
        gc.freeze()
        gc.enable()
        self.release()

    def release(self) -> None:
        """Give back pages that were needed once; also called in the children, after their start."""
        if self._pages is not None:
            self._pages.give_back()
