"""Resource quantities (k8s.io/apimachinery resource.Quantity): "100m", "1.5Gi", "1e3", 2.

Grammar: <sign><digits>[.<digits>](Ki|Mi|Gi|Ti|Pi|Ei | n|u|m||k|M|G|T|P|E | e<int>|E<int>). No spaces.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from .meta import Quantity

_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_FORM = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([eE][+-]?[0-9]{1,4})|([numkMGTPE]|[KMGTPE]i)?)\Z", re.ASCII)

_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1
"""The range of a quantity given as a number: no message holds a larger one. The API server writes texts."""


class QuantityError(ValueError):
    """The text is not a quantity."""


def parse(quantity: Quantity) -> Fraction:
    """The exact value. Raises QuantityError."""
    return _parse(_text(quantity))


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, bool) or (isinstance(quantity, int) and not _MIN_INT <= quantity <= _MAX_INT):
        raise QuantityError(f"not a quantity: {str(quantity)[:64]!r}")
    return quantity if isinstance(quantity, str) else repr(quantity)


@lru_cache(maxsize=256)
def _parse(text: str) -> Fraction:
    """Cached, as `_milli` and `_units` are: pods use the same few quantities again and again."""
    match = _FORM.match(text) if len(text) <= 64 else None
    if match is None:
        raise QuantityError(f"not a quantity: {text[:64]!r}")
    sign, digits, exponent, suffix = match.groups()
    value = Fraction(digits if not digits.endswith(".") else digits[:-1]) * _SUFFIXES[suffix or ""]
    if exponent:
        power = int(exponent[1:])
        if abs(power) > 64:
            raise QuantityError(f"exponent out of range: {text!r}")
        value *= Fraction(10) ** power
    return -value if sign == "-" else value


def ceil(value: Fraction) -> int:
    """Rounded up, as Quantity.Value() does."""
    return -(-value.numerator // value.denominator)


def milli(quantity: Quantity) -> int:
    """Thousandths, rounded up, as Quantity.MilliValue() does. Raises QuantityError."""
    return _milli(_text(quantity))


@lru_cache(maxsize=256)
def _milli(text: str) -> int:
    return ceil(_parse(text) * 1000)


def quantity_value(quantity: Quantity) -> int:
    """Units or bytes, rounded up, as Quantity.Value() does. Raises QuantityError."""
    return _units(_text(quantity))


@lru_cache(maxsize=256)
def _units(text: str) -> int:
    return ceil(_parse(text))
