"""The bytes of a page of metrics."""

from __future__ import annotations

from typing import Any

from tornado.httputil import HTTPHeaders

from actors.http_servers.exposition import text_format
from actors.http_servers.serving.metrics_page import MetricsPage
from supervision.protocol import MetricSample


class _Request:
    headers = HTTPHeaders()


class _Handler:
    request = _Request()

    def __init__(self) -> None:
        self.sent = b""

    def set_header(self, name: str, value: str) -> None: ...

    async def finish(self, content: bytes) -> None:
        self.sent += content


async def test_the_name_of_a_directory_that_is_not_utf8_fails_no_page() -> None:
    handler: Any = _Handler()
    sample = MetricSample("gauge", "used_bytes", {"pod": "x\udcff"}, 1)
    await MetricsPage(handler).finish(text_format.family("bytes", [sample]))
    assert b'used_bytes{pod="x?"} 1' in handler.sent
