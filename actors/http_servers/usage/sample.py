"""The usage figures of the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from actors.http_servers.serving.handler import ServerHandler
from actors.shared.cri.errors import CriError

if TYPE_CHECKING:
    from actors.shared.stats.sample import UsageSample

CACHED_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 1.0
"""Seconds; the age limit for clients that compute rates: metrics-server polls every 10 to 15 s."""


async def take_sample(handler: ServerHandler, most_seconds: float, *, disks: bool) -> UsageSample | None:
    """Figures of at most this age; None, with a warning, when the runtime does not list its pods."""
    try:
        return await handler.state.collector.sample(most_seconds, disks=disks)
    except CriError as error:
        handler.state.actor.log.warning("the runtime does not list its pods: %s", error)
        return None
