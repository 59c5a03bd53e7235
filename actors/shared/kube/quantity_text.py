"""Amounts of resources as the API server writes them (canonical form of resource.Quantity), so that writing the same
amount again is no change."""

from __future__ import annotations

from .huge_pages import is_huge_pages
from .meta import Quantity

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BYTES = ("memory", "ephemeral-storage")


def written(resource: str, amount: int) -> str:
    """`amount` in thousandths for cpu, else in bytes or units.

    For the server, a text without a binary suffix is decimal: it writes 4000 bytes as 4k.
    """
    if resource == "cpu":
        return decimal(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in _BYTES or is_huge_pages(resource):
        text = binary(amount)
        return text if text.endswith("i") else decimal(amount)
    return decimal(amount)


def alike(quantity: Quantity, amount: int) -> str:
    """The amount as Go prints it, if it came from `quantity` alone or as the first part of a sum: with binary suffixes
    only if `quantity` has one."""
    return binary(amount) if str(quantity).endswith("i") else decimal(amount)


def binary(amount: int) -> str:
    """Bytes with the largest binary suffix that leaves a whole number; below 1024 as `decimal`."""
    return _with_suffix(amount, 1024, _BINARY) if abs(amount) >= 1024 else decimal(amount)


def decimal(amount: int) -> str:
    """The number with the largest decimal suffix that leaves it whole."""
    return _with_suffix(amount, 1000, _DECIMAL)


def _with_suffix(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    power = 0
    while amount and amount % base == 0 and power < len(suffixes) - 1:
        amount, power = amount // base, power + 1
    return f"{amount}{suffixes[power]}"
