"""The answer of a page of metrics: in the Prometheus text format, or as OpenMetrics if the client asks for it."""

from __future__ import annotations

import zlib
from typing import Final

from actors.http_servers.exposition import openmetrics, text_format

from .handler import ServerHandler

_GZIP: Final = 16 + zlib.MAX_WBITS
"""zlib's number for the format of gzip."""
_FASTEST: Final = 1
"""A page becomes a tenth of its size also at this level."""


class MetricsPage:
    """Its parts are text of whole metrics in the Prometheus text format 0.0.4."""

    def __init__(self, handler: ServerHandler) -> None:
        self._handler = handler
        self._openmetrics = openmetrics.is_wanted(handler.request.headers.get("Accept", ""))
        handler.set_header("Content-Type", openmetrics.CONTENT_TYPE if self._openmetrics else text_format.CONTENT_TYPE)
        handler.set_header("Vary", "Accept, Accept-Encoding")
        self._packer = None
        if accepts_gzip(handler.request.headers.get("Accept-Encoding", "")):
            self._packer = zlib.compressobj(_FASTEST, wbits=_GZIP)
            handler.set_header("Content-Encoding", "gzip")

    async def write(self, part: str) -> None:
        """Send a part that is not the last."""
        self._handler.write(self._packed(self._translated(part)))
        await self._handler.flush()

    async def finish(self, part: str) -> None:
        """Send the last part."""
        text = self._translated(part) + (openmetrics.END if self._openmetrics else "")
        content = self._packed(text)
        await self._handler.finish(content + (self._packer.flush() if self._packer is not None else b""))

    def _translated(self, part: str) -> str:
        return openmetrics.translated(part) if self._openmetrics else part

    def _packed(self, text: str) -> bytes:
        content = text.encode(errors="replace")  # a label may be the name of somebody's directory
        return content if self._packer is None else self._packer.compress(content)


def accepts_gzip(accepted: str) -> bool:
    """Whether Accept-Encoding names gzip, and not with the weight 0."""
    for choice in accepted.split(","):
        name, _, weight = (word.strip() for word in choice.partition(";"))
        if name == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
