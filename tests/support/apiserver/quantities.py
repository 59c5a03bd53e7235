"""Quantities as the server writes them whatever was sent (the canonical form of resource.Quantity)."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

_FORM = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([eE])([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def canonical(value: Any) -> str:
    """Raises ValueError for what is no quantity."""
    found = _FORM.fullmatch(str(value)) if isinstance(value, str | int | float) and value is not True else None
    if found is None:
        raise ValueError(f"quantities must match the regular expression '{_FORM.pattern}': {value!r}")
    sign, digits, exponent, power, suffix = found.groups()
    amount = Fraction(digits.rstrip(".") or "0") * (-1 if sign == "-" else 1)
    if suffix in _BINARY:
        return _binary(amount * 1024 ** _BINARY[suffix])
    return _decimal(amount * (Fraction(10) ** int(power) if exponent else Fraction(1000) ** _DECIMAL[suffix or ""]))


def _binary(amount: Fraction) -> str:
    """Small ones, and parts of one, are written as decimal ones are."""
    if abs(amount) < 1024 or amount.denominator != 1:
        return _decimal(amount)
    number, suffix = int(amount), ""
    for name in _BINARY:
        if number % 1024:
            break
        number, suffix = number // 1024, name
    return f"{number}{suffix}"


def _decimal(amount: Fraction) -> str:
    """Rounded up to a billionth; the largest suffix that leaves a whole number."""
    number = -(-(amount * 10**9).numerator // (amount * 10**9).denominator)
    names = list(_DECIMAL)
    while number and number % 1000 == 0 and len(names) > 1:
        number = number // 1000
        names.pop(0)
    return f"{number}{names[0]}" if number else "0"
