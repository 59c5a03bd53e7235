"""The order of two versions of an object or of a collection. Pure.

Versions of one resource are increasing decimal numbers of any length (KEP-5504). A server may send something else.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile("0|[1-9][0-9]*", re.ASCII)


def order(one: str, other: str) -> int | None:
    """Below 0: `one` is older; 0: both are equal; above 0: it is newer. None: not both are numbers."""
    if _NUMBER.fullmatch(one) is None or _NUMBER.fullmatch(other) is None:
        return None
    first, second = (len(one), one), (len(other), other)
    return (first > second) - (first < second)


def is_older(one: str, other: str) -> bool:
    """False also if it is not a number."""
    return (order(one, other) or 0) < 0
