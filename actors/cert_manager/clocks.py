"""The clocks that the parts of the certificate manager go by."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec


class Clocks(msgspec.Struct, frozen=True):
    """Both in seconds."""

    wall: Callable[[], float] = time.time
    """Since 1970: what the validity of certificates is measured by."""
    monotonic: Callable[[], float] = time.monotonic
