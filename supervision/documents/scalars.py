"""The meaning of a plain YAML scalar: YAML 1.1 as the API machinery reads it, without dates and base-60 numbers."""

from __future__ import annotations

import math
import re
from typing import Any, Final

KINDS: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)
}  # fmt: skip
_BOOLS: Final = {
    word: value
    for value, words in ((True, "true yes on y"), (False, "false no off n"))
    for base in words.split()
    for word in (base, base.capitalize(), base.upper())
}
_NULLS: Final = {"", "~", "null", "Null", "NULL"}
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_INT: Final = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0[0-7_]+|0|[1-9][0-9_]*)\Z", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z", re.ASCII)
_BASES: Final = {"0b": 2, "0x": 16, "0o": 8}
_MOST_DIGITS: Final = 64


def plain_scalar(text: str) -> Any:
    """The value of an unquoted YAML scalar. Raises ValueError for a number that JSON cannot hold."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    is_short = len(text) <= _MOST_DIGITS
    if is_short and _INT.match(text):
        return _integer(text)
    if _NOT_FINITE.match(text):
        number = math.inf
    elif _FLOAT.match(text):
        number = float(text) if is_short else math.inf
    else:
        return text
    if not math.isfinite(number):
        raise ValueError("must be a number that JSON can hold")
    return number


def _integer(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").replace("_", "")
    base = _BASES.get(digits[:2], 8 if len(digits) > 1 and digits[0] == "0" else 10)
    return sign * int(digits[2:] if digits[:2] in _BASES else digits, base)
