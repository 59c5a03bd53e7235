"""The answer of a page of metrics: in the Prometheus text format, or as OpenMetrics if the client asks for it."""

from __future__ import annotations

from actors.http_servers.exposition import openmetrics, text_format

from .handler import ServerHandler


class MetricsPage:
    """Its parts are text of whole metrics in the Prometheus text format 0.0.4."""

    def __init__(self, handler: ServerHandler) -> None:
        self._handler = handler
        self._openmetrics = openmetrics.is_wanted(handler.request.headers.get("Accept", ""))
        handler.set_header("Content-Type", openmetrics.CONTENT_TYPE if self._openmetrics else text_format.CONTENT_TYPE)
        handler.set_header("Vary", "Accept")

    async def write(self, part: str) -> None:
        """Send a part that is not the last."""
        self._handler.write(openmetrics.translated(part) if self._openmetrics else part)
        await self._handler.flush()

    async def finish(self, part: str) -> None:
        """Send the last part."""
        await self._handler.finish(openmetrics.translated(part) + openmetrics.END if self._openmetrics else part)
