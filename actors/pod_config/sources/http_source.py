"""Manifests from a URL: one GET at a time, bounded in size and time.

`manifest` reads the body; this module decides which pods stay after an answer or an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.shared.config.url_passwords import without_passwords
from supervision.errors import error_text
from supervision.time_scale import scaled

from ..manifests.manifest import StaticPod
from ..validation.errors import ManifestError
from ..validation.limits import MAX_BYTES

TIMEOUT_SECONDS = 10.0


class FetchError(Exception):
    """No usable answer: unreachable, timeout, status other than 200, or too large."""


async def fetch(url: str, headers: Mapping[str, list[str]]) -> bytes:
    """The body of the answer. Proxies of the environment are not used. Raises FetchError."""
    from tornado.httpclient import HTTPError, HTTPRequest
    from tornado.httputil import HTTPHeaders
    from tornado.simple_httpclient import SimpleAsyncHTTPClient

    fields = HTTPHeaders()
    for name, values in headers.items():
        for value in values:
            fields.add(name, value)
    client = SimpleAsyncHTTPClient(force_instance=True, max_body_size=MAX_BYTES, max_buffer_size=MAX_BYTES + (1 << 20))
    request = HTTPRequest(
        url,
        headers=fields,
        connect_timeout=scaled(TIMEOUT_SECONDS),
        request_timeout=scaled(TIMEOUT_SECONDS),
        max_redirects=10,
    )
    try:
        answer = await client.fetch(request, raise_error=True)
    except HTTPError as error:
        raise FetchError(f"status {error.code}: {error.message}" if error.code < 599 else str(error.message)) from None
    except (OSError, ValueError) as error:
        raise FetchError(error_text(error)) from None
    finally:
        client.close()
    if answer.code != 200:
        raise FetchError(f"status {answer.code}")
    return bytes(answer.body)


class UrlSource:
    """The pods of the last good answer. They stay after an error."""

    def __init__(self, url: str) -> None:
        self.url, self.shown_url = url, without_passwords(url)
        """`shown_url`: in texts."""
        self.pods: list[StaticPod] = []
        self.synced = False
        """The first good answer has arrived."""
        self.errors: list[str] = []
        self.failures = 0
        """Consecutive errors."""
        self._body: bytes | None = None

    def is_new(self, body: bytes) -> bool:
        """Whether the body differs from the last good one."""
        return body != self._body

    def answered(self, body: bytes, pods: list[StaticPod]) -> None:
        """A good answer with these pods; an empty body has none."""
        self.pods, self._body, self.synced, self.failures = pods, body, True, 0
        self.errors = [] if body else [f"{self.shown_url}: the answer is empty: no pods"]

    def unchanged(self) -> None:
        """The same answer as the last good one."""
        self.failures = 0
        self.errors = self.errors if not self._body else []

    def failed(self, error: ManifestError | FetchError) -> None:
        texts = error.texts() if isinstance(error, ManifestError) else [str(error)]
        self.errors = [f"{self.shown_url}: {text}" for text in texts]
        self.failures += 1
