"""Amounts of resources as the API server writes them (canonical form of resource.Quantity), so that writing the same
amount again is no change."""

from __future__ import annotations

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def written(resource: str, amount: int) -> str:
    """`amount` in thousandths for cpu, else in bytes or units."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return _binary(amount)
    return str(amount)


def _binary(amount: int) -> str:
    power = 0
    while amount and amount % 1024 == 0 and power < len(_BINARY) - 1:
        amount, power = amount // 1024, power + 1
    return f"{amount}{_BINARY[power]}"
