"""Switches for what is done so that the processes share more memory. Each works without the others.

The environment variable SUPERVISION_MEMORY_OFF turns some of them off, `heap_fill,fork_hooks` or `all`: for measuring
what each gains, and for an interpreter or C library that does not bear one. What a measure gained when it was last
measured is in the docstring of its module."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "SUPERVISION_MEMORY_OFF"
MEASURES: Final = ("warm_up", "code_layout", "fork_hooks", "heap_fill", "one_heap", "page_release")
"""warm_up: warmup.py, what every actor does is done once before the first fork. code_layout: code_layout.py, the code
that ran lies on few pages. fork_hooks: fork_hooks.py, no hooks of libraries around a fork. heap_fill, one_heap:
heap_fill.py, no new object on a shared page; one heap for all threads. page_release: page_release.py, pages that were
needed once."""


def _off() -> set[str]:
    return {word for word in os.environ.get(VARIABLE, "").replace(" ", "").split(",") if word}


def is_on(measure: str) -> bool:
    """Whether a measure is to be taken."""
    return not _off() & {measure, "all"}


def unknown() -> list[str]:
    """Words of the variable that name no measure."""
    return sorted(_off() - {*MEASURES, "all"})
