"""What is done once before the first fork, so that the processes share as much memory as they can."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

from ..names import Names
from ..process import load
from ..status_page import StatusPage
from . import heap_fill
from .page_release import PageRelease
from .warmup import functions, warm_up


class SharedMemory:
    """The heap as the children find it."""

    def __init__(self, names: Names, status_page: StatusPage, prepare: Iterable[str]) -> None:
        """`prepare`: functions (`module:function`) that make what every actor would make by itself."""
        calls: list[Callable[[], Any]] = [load(name) for name in prepare]
        loaded = functions()
        gc.freeze()  # to go through what was loaded once more takes longer than its garbage is worth
        warm_up(names, status_page, calls, loaded)
        del loaded
        heap_fill.one_heap()
        self._pages = PageRelease()
        gc.collect()
        self._fillers = heap_fill.fill()
        gc.freeze()
        gc.enable()
        self.release()

    def release(self) -> None:
        """Give back pages that were needed once; also called in the children, after their start."""
        self._pages.give_back()
