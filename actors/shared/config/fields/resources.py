"""Amounts of resources as the configuration writes them: reservations and percentages. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from actors.shared.kube import quantity

RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_PERCENT: Final = re.compile(r"\+?([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})%\Z", re.ASCII)


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


def parse_percent(text: str) -> Fraction | None:
    """`15%` as 15; None if it is not a percentage."""
    match = _PERCENT.match(text)
    return Fraction(match.group(1).rstrip(".")) if match else None
