"""Switches for the measures by which the processes share more memory. Each works without the others.

The environment variable SUPERVISION_MEMORY_OFF turns some of them off, `heap_fill,fork_hooks` or `all`: to measure what
each saves, and for an interpreter or C library that does not support one. The docstring of each measure's module has
its last measured saving."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

VARIABLE: Final = "SUPERVISION_MEMORY_OFF"
MEASURES: Final = (
    "warm_up",
    "code_layout",
    "function_layout",
    "name_layout",
    "fork_hooks",
    "heap_fill",
    "page_release",
)
"""warm_up: what every actor does is done once before the first fork (warmup.py). code_layout: the code that runs lies
on few pages. function_layout: so do the functions that have it. name_layout: so do the names that it uses. fork_hooks:
no hooks of libraries around a fork. heap_fill: no new object on a shared page. page_release: pages that were needed
once are given back."""


def _off() -> set[str]:
    return {word for word in os.environ.get(VARIABLE, "").replace(" ", "").split(",") if word}


def is_on(measure: str) -> bool:
    """Whether a measure is switched on."""
    return not _off() & {measure, "all"}


def unknown() -> list[str]:
    """The words in the variable that are not names of measures."""
    return sorted(_off() - {*MEASURES, "all"})
