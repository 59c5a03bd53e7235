"""CPU lists as the kernel writes them (cpuset(7), "List format"). Pure."""

from __future__ import annotations

import re
from typing import Final

_CPU_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?\Z", re.ASCII)
_MAX_CPU: Final = 1 << 16


def parse_cpu_list(text: str) -> frozenset[int]:
    """`0-3,7`, as the kernel writes CPU lists; empty is none. Raises ValueError."""
    found: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        match = _CPU_RANGE.match(part.strip())
        low = int(match.group(1)) if match else -1
        high = int(match.group(2) or low) if match else -1
        if match is None or high < low or high > _MAX_CPU:
            raise ValueError("must be CPU numbers and ranges, such as 0-3,7")
        found.update(range(low, high + 1))
    return frozenset(found)


def format_cpu_list(cpus: frozenset[int]) -> str:
    """The shortest list that parse_cpu_list reads back."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
