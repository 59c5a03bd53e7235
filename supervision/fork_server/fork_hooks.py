"""Suppresses the fork hooks of libraries.

The hooks replace locks that another thread may have held. Only the fork server forks, and it has one thread. For each
child they would write to some fifty pages that it shares with all others. The one hook that matters, the new seed of
`random`, is in fork.py.

Switch: `fork_hooks` (memory_switches.py). It saves 2.5 MiB of the whole tree's 145 (PSS, 22 actors, 10 pods, CPython
3.11).
"""

from __future__ import annotations

import os

from .memory_switches import is_on


def drop_fork_hooks() -> None:
    """Keep libraries from registering fork hooks. Call it before they are imported."""
    if is_on("fork_hooks"):
        os.register_at_fork = lambda **hooks: None
