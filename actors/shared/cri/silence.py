"""Reports a container runtime or image service that does not answer in `supervise status`, with the time since.

An open socket proves nothing: a stopped or hanging program accepts connections but never answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from supervision.actor import Actor
from supervision.protocol import FORK_SERVER, ServiceState
from supervision.time_scale import scaled

LOOK_SECONDS: Final = 5.0
SILENT_SECONDS: Final = 10.0
"""Seconds without any answer. Single calls may be slow, but a working runtime answers several calls a second."""
RUNTIME: Final = "container runtime"
IMAGE_SERVICE: Final = "image service"


class RuntimeSilence:
    """Watches one service; checks the clock every few seconds."""

    def __init__(self, actor: Actor, service: str, endpoint: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._actor, self._service, self._endpoint, self._clock = actor, service, endpoint, clock
        self._answered_at = clock()
        self._reported: str | None = None
        """None: this incarnation has reported nothing yet."""
        actor.every(LOOK_SECONDS, self._check_silence)

    def answered(self) -> None:
        """The service has answered, with a result or an error."""
        self._answered_at = self._clock()
        self._tell("")

    def _check_silence(self) -> None:
        if self._clock() - self._answered_at >= scaled(SILENT_SECONDS):
            self._tell(f"{self._endpoint} does not answer")

    def _tell(self, text: str) -> None:
        if text == self._reported:
            return
        if text:
            self._actor.log.warning("%s: %s", self._service, text)
        elif self._reported:
            self._actor.log.info("%s: %s answers again", self._service, self._endpoint)
        self._reported = text
        self._actor.tell(FORK_SERVER, ServiceState(self._service, text, self._answered_at))
