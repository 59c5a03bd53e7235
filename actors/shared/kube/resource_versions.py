"""The order of two versions of an object or of a collection. Pure.

Versions of one resource are decimal numbers that grow (KEP-5504), of any length; what a server says may be no number.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile("0|[1-9][0-9]*", re.ASCII)


def order(one: str, other: str) -> int | None:
    """Below 0: `one` is older; 0: they are the same; above 0: it is newer. None: they are not both numbers."""
    if _NUMBER.fullmatch(one) is None or _NUMBER.fullmatch(other) is None:
        return None
    first, second = (len(one), one), (len(other), other)
    return (first > second) - (first < second)


def is_older(one: str, other: str) -> bool:
    """False also for what is no number."""
    return (order(one, other) or 0) < 0
