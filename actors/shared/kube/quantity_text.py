"""Amounts of resources as the API server writes them (canonical form of resource.Quantity), so that writing the same
amount again is no change."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from .huge_pages import is_huge_pages
from .meta import Quantity
from .quantity import parse

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_SMALL = ("n", "u", "m")
_BYTES = ("memory", "ephemeral-storage")
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+\Z", re.ASCII)


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


def canonical(quantity: Quantity) -> str:
    """The quantity as Go prints it: `1024Mi` as `1Gi`, `0.5Ki` as `512`, `1500000` as `1500k`. Raises QuantityError."""
    return alike(quantity, parse(quantity))


def alike(quantity: Quantity, amount: int | Fraction) -> str:
    """The amount as Go prints it, if it came from `quantity` alone or as the first part of a sum: in its notation, with
    binary suffixes, decimal suffixes or an exponent. Go prints a small or broken number of bytes as a decimal one."""
    text = str(quantity)
    whole = Fraction(amount).denominator == 1
    if text.endswith("i") and whole:
        return binary(int(amount))
    number, power = _in_thousands(Fraction(amount))
    if _EXPONENT.search(text):
        return f"{number}e{3 * power}" if power else str(number)
    return f"{number}{_SMALL[power] if power < 0 else _DECIMAL[power]}"


def binary(amount: int) -> str:
    """Bytes with the largest binary suffix that leaves a whole number; below 1024 as `decimal`."""
    return _with_suffix(amount, 1024, _BINARY) if abs(amount) >= 1024 else decimal(amount)


def decimal(amount: int) -> str:
    """The number with the largest decimal suffix that leaves it whole."""
    return _with_suffix(amount, 1000, _DECIMAL)


def _in_thousands(value: Fraction) -> tuple[int, int]:
    """The value as a whole number and a power of 1000, as large as possible, from nano to exa; rounded up to nano."""
    number, power = -(-value.numerator * 10**9 // value.denominator), -3
    while number and number % 1000 == 0 and power < len(_DECIMAL) - 1:
        number, power = number // 1000, power + 1
    return number, power if number else 0


def _with_suffix(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    power = 0
    while amount and amount % base == 0 and power < len(suffixes) - 1:
        amount, power = amount // base, power + 1
    return f"{amount}{suffixes[power]}"
