"""Reports to `supervise status` that the API server does not let the node renew its lease, and since when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.shared.api.errors import ApiError
from actors.shared.api.remedies import of_error
from supervision.process_messages import ServiceState

API_SERVER: Final = "API server"


class ServerTrouble:
    """Reports by `tell` when the API server starts to fail, and when it answers again. It counts as failing after
    `patience` seconds without a success, by the monotonic `clock`."""

    def __init__(
        self, tell: Callable[[ServiceState], None], clock: Callable[[], float], patience: float, node: str
    ) -> None:
        """`node`: its name."""
        self._tell, self._clock, self._patience, self._node = tell, clock, patience, node
        self._renewed_at = clock()
        self._reported: str | None = None
        """None: this incarnation has reported nothing yet."""

    def failed(self, error: ApiError) -> None:
        """An attempt to renew the lease has failed."""
        if self._clock() - self._renewed_at >= self._patience:
            self._report(f"the node's lease is not renewed: {error}", of_error(error, self._node))

    def answered(self) -> None:
        """The lease is renewed."""
        self._renewed_at = self._clock()
        self._report("")

    def _report(self, text: str, remedy: str = "") -> None:
        if text != self._reported:
            self._reported = text
            self._tell(ServiceState(API_SERVER, text, self._renewed_at, remedy))
