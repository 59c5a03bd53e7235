"""An API server that does not let the node renew its lease: said in `supervise status`, with the time since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.shared.api.errors import ApiError
from supervision.protocol import ServiceState

API_SERVER: Final = "API server"


class ServerTrouble:
    """`tell` passes on what is new; `clock` is CLOCK_MONOTONIC; failures count after `patience` seconds without a
    success."""

    def __init__(self, tell: Callable[[ServiceState], None], clock: Callable[[], float], patience: float) -> None:
        self._tell, self._clock, self._patience = tell, clock, patience
        self._well_at = clock()
        self._told: str | None = None
        """None: this incarnation has told nothing yet."""

    def failed(self, error: ApiError) -> None:
        """A try to renew the lease has failed."""
        if self._clock() - self._well_at >= self._patience:
            self._say(f"the node's lease is not renewed: {error}")

    def answered(self) -> None:
        """The lease is renewed."""
        self._well_at = self._clock()
        self._say("")

    def _say(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._tell(ServiceState(API_SERVER, text, self._well_at))
