"""The clocks of the certificate manager."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec


class CertificateClocks(msgspec.Struct, frozen=True):
    """The two clocks, in seconds."""

    wall: Callable[[], float] = time.time
    """Since 1970; for the validity of certificates."""
    monotonic: Callable[[], float] = time.monotonic
