"""When a certificate is near its end, for `supervise status` and `supervise doctor`. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

NEAR_END: Final = timedelta(days=7)
LAST_PART: Final = 0.1
"""The remaining share of a lifetime at which rotation has failed: it requests the next certificate at 70 to 90 %."""


def ends_soon(begin: datetime, end: datetime, now: datetime) -> bool:
    """Whether less than a week and less than a tenth of its lifetime is left."""
    return end - now < min(NEAR_END, (end - begin) * LAST_PART)
