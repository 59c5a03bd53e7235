"""Amounts of resources as the configuration writes them: reservations, percentages, CPU lists. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from actors.shared.kube import quantity

RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_CPU_RANGE: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?\Z", re.ASCII)
_PERCENT: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})%\Z", re.ASCII)
_MAX_CPU: Final = 1 << 16


def parse_resource_list(amounts: Mapping[str, str | int]) -> dict[str, Fraction]:
    """The amounts of systemReserved or kubeReserved, in cores, bytes and process IDs. Raises ValueError with the
    rule."""
    return {name: reserved_amount(name, amount) for name, amount in amounts.items()}


def reserved_amount(name: str, amount: str | int) -> Fraction:
    """Parse a reservation. Raises ValueError with the rule."""
    if name not in RESERVABLE:
        raise ValueError(f"only {', '.join(RESERVABLE)} can be reserved")
    value = quantity.parse(amount)
    if value < 0:
        raise ValueError("must not be negative")
    return value


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


def parse_percent(text: str) -> Fraction | None:
    """`15%` as 15; None if it is not a percentage."""
    match = _PERCENT.match(text)
    return Fraction(match.group(1).rstrip(".")) if match else None
