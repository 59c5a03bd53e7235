"""Programs that an agent has started and that outlive it: what they do is not undone before they have ended."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from actors.shared.linux.root_directory import root_of

_LOOK_AGAIN_SECONDS = 0.2


def are_running(prefixes: tuple[str, ...], words: Collection[str], proc: str = "/proc") -> bool:
    """Whether a program runs whose name begins with one of `prefixes`, and that has one of `words` as an argument. A
    process of a container may have any arguments, but has another root directory."""
    own = root_of(f"{proc}/self")
    for entry in os.listdir(proc):
        if entry.isdigit():
            with suppress(OSError):  # it has ended
                arguments = Path(proc, entry, "cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")
                named = any(_is_named(word, prefixes) for word in arguments[:2])
                if named and not {*words}.isdisjoint(arguments) and root_of(f"{proc}/{entry}") == own:
                    return True
    return False


def wait_until_ended(prefixes: tuple[str, ...], words: Collection[str], seconds: float) -> bool:
    """Whether they have ended within this time."""
    end = time.monotonic() + seconds
    while are_running(prefixes, words):
        if time.monotonic() >= end:
            return False
        time.sleep(_LOOK_AGAIN_SECONDS)
    return True


def _is_named(path: str, prefixes: tuple[str, ...]) -> bool:
    return os.path.basename(path).startswith(prefixes)
