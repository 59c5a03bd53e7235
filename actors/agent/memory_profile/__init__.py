"""The memory profile: the functions that actors run and the names that they look up, which are placed on few memory
pages before the first fork.

`functions.txt` and `names.txt` are recorded on a node at work, by `make memory-profile`, and are in order: what most
actors use comes first, what the same actors use is together. A line that no longer fits the code costs nothing but the
memory that it would have saved; record them again after larger changes. It imports little: see agent/command.py.
"""

from __future__ import annotations

import os


def functions() -> tuple[str, ...]:
    """Functions that actors run: `module qualified_name`."""
    return _lines("functions.txt")


def names() -> tuple[str, ...]:
    """Names of attributes, globals and keys in these functions."""
    return _lines("names.txt")


def _lines(file: str) -> tuple[str, ...]:
    """The file's lines; none when it is missing or not text: the agent works without."""
    try:
        with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as lines:
            return tuple(lines.read().splitlines())
    except (OSError, UnicodeDecodeError):
        return ()
