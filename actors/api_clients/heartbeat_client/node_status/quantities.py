"""Amounts of resources as the API server writes them (canonical form of resource.Quantity), so that writing the same
amount again is no change."""

from __future__ import annotations

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")


def written(resource: str, amount: int) -> str:
    """`amount` in thousandths for cpu, else in bytes or units.

    A text without a binary suffix is decimal to the server, whatever was meant: of 4000 bytes it makes 4k.
    """
    if resource == "cpu":
        return _scaled(amount // 1000, 1000, _DECIMAL) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        binary = _scaled(amount, 1024, _BINARY)
        return binary if binary.endswith("i") else _scaled(amount, 1000, _DECIMAL)
    return _scaled(amount, 1000, _DECIMAL)


def _scaled(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    """With the largest suffix that leaves a whole number."""
    power = 0
    while amount and amount % base == 0 and power < len(suffixes) - 1:
        amount, power = amount // base, power + 1
    return f"{amount}{suffixes[power]}"
