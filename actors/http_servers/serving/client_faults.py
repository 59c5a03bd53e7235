"""Limits the log lines about faults of clients: anyone who can reach the port can cause one with each connection."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from actors.shared.token_bucket import TokenBucket

LOGGER: Final = "tornado.general"
"""Tornado's loggers for malformed requests and failed handshakes."""
BURST: Final = 20
"""The burst: lines that pass before the rate applies."""
PER_SECOND: Final = 0.2
CLIENT_FAULTS: Final = logging.getLogger(LOGGER)


class ClientFaults(logging.Filter):
    """Lets lines below ERROR pass at a limited rate; a line that passes gives the number of those dropped before it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._bucket, self._left_out = clock, TokenBucket(PER_SECOND, BURST), 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            return True
        if not self._bucket.take(self._clock()):
            self._left_out += 1
            return False
        if self._left_out:
            record.msg, record.args = f"{record.getMessage()} ({self._left_out} such lines were left out)", ()
            self._left_out = 0
        return True


def limit_lines() -> None:
    """Limit these lines in this process. Further calls have no effect."""
    if not any(isinstance(each, ClientFaults) for each in CLIENT_FAULTS.filters):
        CLIENT_FAULTS.addFilter(ClientFaults())
