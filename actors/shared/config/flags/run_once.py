"""The flags that `supervise run-once` adds to those that its user has typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

RUN_ONCE_FLAGS: Final = ("--runonce=false", "--enable-server=false")


def given_flags(flags: Sequence[str]) -> Sequence[str]:
    """Without those that `run-once` has added: an operator would not type them. Pure."""
    of_run_once = set(RUN_ONCE_FLAGS) <= set(flags)
    return [flag for flag in flags if flag not in RUN_ONCE_FLAGS] if of_run_once else flags
