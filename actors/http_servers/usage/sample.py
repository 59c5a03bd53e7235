"""How pages get usage figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from actors.http_servers.serving.handler import Handler
from actors.shared.cri.errors import CriError

if TYPE_CHECKING:
    from actors.shared.stats.sample import Sample

KEPT_SECONDS: Final = 10.0
FRESH_SECONDS: Final = 1.0
"""Where rates are computed of the answers: metrics-server asks each 10 to 15 s."""


async def take_sample(handler: Handler, most_seconds: float, *, disks: bool) -> Sample | None:
    """Figures that are at most so old; None, after a warning, when the runtime does not tell its pods."""
    try:
        return await handler.state.collector.sample(most_seconds, disks=disks)
    except CriError as error:
        handler.state.actor.log.warning("the runtime does not tell its pods: %s", error)
        return None
