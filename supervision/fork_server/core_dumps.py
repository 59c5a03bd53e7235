"""Core dumps: none of a process of the tree, because its memory has keys and tokens. A program has the limit with which
the fork server was started, and so has what it starts."""

from __future__ import annotations

import resource
from typing import Final

_STARTED_WITH: Final = resource.getrlimit(resource.RLIMIT_CORE)[0]


def forbid() -> None:
    """For this process and those that it forks. The hard limit stays, so that a program may raise its own."""
    _set(0)


def allow_as_before() -> None:
    """In a child that is about to be another program."""
    _set(_STARTED_WITH)


def _set(soft: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (soft, resource.getrlimit(resource.RLIMIT_CORE)[1]))
