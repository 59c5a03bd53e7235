"""Detects that the host gives this process no more threads.

A library that needs a thread and gets none ends its process by a signal. That says nothing about the input that the
process had in hand."""

from __future__ import annotations

import threading
from typing import Final

THREADS: Final = 24
"""More than gRPC starts in a process: 7 on two cores, 19 on sixteen and more."""


def lacks_threads() -> bool:
    """Whether THREADS threads cannot be started now. They end before it returns."""
    end = threading.Event()
    started = []
    try:
        for _ in range(THREADS):
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:  # can't start new thread
        return True
    finally:
        end.set()
        for thread in started:
            thread.join()
    return False
