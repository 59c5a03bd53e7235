"""Memory of the machine, from /proc/meminfo (proc_meminfo(5))."""

from __future__ import annotations

from pathlib import Path


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes (or plain counts, for lines without a unit) by name. Invalid lines are skipped."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isascii() and words[0].isdigit():
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return found


def read_memory(proc: str = "/proc") -> dict[str, int]:
    """Bytes by name: MemTotal, SwapTotal, ... Raises OSError."""
    return parse_meminfo(Path(proc, "meminfo").read_text("ascii"))


def total_memory(proc: str = "/proc") -> int:
    """MemTotal in bytes. Raises OSError; KeyError if it is missing."""
    return read_memory(proc)["MemTotal"]
