"""Keeps the libraries' fork hooks out of the children."""

from __future__ import annotations

import os


def drop_fork_hooks() -> None:
    """Have no library run its hooks around each fork. To be called before the libraries are imported.

    They make locks anew that another thread may have held. The fork server, which alone forks, has one thread; and for
    each child they would write to some fifty pages that it shares with all others. What `random` does, fork.py does.
    """
    os.register_at_fork = lambda **hooks: None
