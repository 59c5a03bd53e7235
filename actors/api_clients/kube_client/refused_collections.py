"""Collections that the API server refuses to list or watch (401, 403, 5xx): logged once a minute, and reported to
`supervise status` after ten seconds. The lease shows whether the server answers at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import msgspec

from actors.shared.api.errors import ApiError
from actors.shared.api.remedies import of_error
from supervision.process_messages import ServiceState

PATIENCE_SECONDS: Final = 10.0
LOG_SECONDS: Final = 60.0


class _Refusal(msgspec.Struct):
    """Times by the clock, in seconds."""

    since: float
    logged_at: float


def service(collection: str) -> str:
    """The name of the trouble in `supervise status`."""
    return f"API server, {collection}"


class RefusedCollections:
    """The refusals by collection. `tell` gets each change; `clock`: CLOCK_MONOTONIC."""

    def __init__(
        self,
        tell: Callable[[ServiceState], None],
        log: logging.Logger | logging.LoggerAdapter[logging.Logger],
        clock: Callable[[], float],
    ) -> None:
        self._tell, self._log, self._clock = tell, log, clock
        self._refusals: dict[str, _Refusal] = {}
        self._reported_texts: dict[str, str] = {}
        """The last report of this incarnation; an earlier one may have reported something else."""

    def failed(self, collection: str, error: ApiError, node: str) -> None:
        """List or watch failed. `node`: the name of this node. An error without a status is no refusal."""
        if not error.status:
            return
        now = self._clock()
        refusal = self._refusals.setdefault(collection, _Refusal(now, now - LOG_SECONDS))
        if now - refusal.logged_at >= LOG_SECONDS:
            refusal.logged_at = now
            self._log.warning("%s cannot be listed or watched: %s", collection, error)
        if now - refusal.since >= PATIENCE_SECONDS:
            self._report(collection, f"cannot be listed or watched: {error}", refusal.since, of_error(error, node))

    def answered(self, collection: str) -> None:
        """List or watch has started."""
        if self._refusals.pop(collection, None) is not None:
            self._log.info("%s can be listed or watched again", collection)
        self._report(collection, "", 0.0)

    def _report(self, collection: str, text: str, since: float, remedy: str = "") -> None:
        if self._reported_texts.get(collection) != text:
            self._reported_texts[collection] = text
            self._tell(ServiceState(service(collection), text, since, remedy))
