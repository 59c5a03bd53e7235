"""What may happen to a call, and the order that says so."""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["error", "lost", "held", "late", "never", "cut", "empty", "emptied", "large", "negative", "full"]
"""error: fails with `code`, and nothing is carried out
lost: carried out, and fails with UNAVAILABLE
held: carried out, and never answered
late: carried out when its deadline is over
never: neither carried out nor answered
cut: carried out, while every connection is cut
empty: answered by an empty message, and nothing is carried out
emptied: carried out, and answered by an empty message
full: carried out when the file system of `filler` is full
large, negative: carried out, and every number of its answer is the largest, or negative"""

WITHOUT_WORK: frozenset[Mode] = frozenset({"error", "never", "empty"})
"""Those by which the runtime is not asked."""


class Order(msgspec.Struct, frozen=True):
    """The next calls of a method meet this. An empty `method` ends it. The proxy answers with `Hits`."""

    method: str = ""
    mode: Mode = "error"
    code: str = "UNAVAILABLE"
    filler: str = ""
    """A file that takes all that is free in its file system, at the first call."""
    times: int = 1 << 30
    """How many calls."""


class Hits(msgspec.Struct, frozen=True):
    """Calls that the previous order met, and all calls so far by method."""

    met: int
    calls: dict[str, int]
