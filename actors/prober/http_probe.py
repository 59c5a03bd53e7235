"""One GET, as kubelet's probes do it: 2xx is success, 3xx that is not followed one with a warning; certificates are
not verified, no proxy, no keep-alive.

The answer is read by hand: of a probe only the status, the place of a redirect and the start of the body matter.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from actors.shared.kube.host_port import joined

from .outcome import OUTPUT_BYTES, USER_AGENT, Outcome, failure, kept, network_text, success, timed_out, warning

MAX_REDIRECTS: Final = 10
_HEAD_BYTES: Final = 64 << 10
_LINE_END: Final = b"\r\n"


class HttpTarget(msgspec.Struct, frozen=True):
    """What to get. `headers` as the manifest has them, in order."""

    scheme: str
    host: str
    port: int
    path: str
    headers: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        path = self.path if self.path.startswith("/") else f"/{self.path}"
        return f"{self.scheme.lower()}://{joined(self.host, self.port)}{path}"


class _Answer(msgspec.Struct, frozen=True):
    status: int
    location: str
    body: bytes


class _BadAnswer(Exception):
    """What came is not an HTTP answer."""


async def probe_http(target: HttpTarget, timeout: float) -> Outcome:
    try:
        async with asyncio.timeout(timeout):
            return await _follow(target)
    except TimeoutError:
        return failure(f'Get "{target.url}": {timed_out(timeout).text}')
    except (
        OSError,
        _BadAnswer,
        asyncio.IncompleteReadError,
        asyncio.LimitOverrunError,
        ValueError,
        OverflowError,
    ) as error:
        return failure(f'Get "{target.url}": {network_text(error)}')


async def _follow(target: HttpTarget) -> Outcome:
    """Get it, and what it redirects to on the same host."""
    url = target.url
    for _ in range(MAX_REDIRECTS + 1):
        answer = await _get(urlsplit(url), target.headers)
        if answer.status in (301, 302, 303, 307, 308) and answer.location:
            following = urljoin(url, answer.location)
            if urlsplit(following).hostname != urlsplit(url).hostname:
                return _unfollowed(answer)
            url = following
        elif 300 <= answer.status < 400:
            return _unfollowed(answer)
        elif 200 <= answer.status < 300:
            return success(kept(answer.body))
        else:
            return failure(f"HTTP probe failed with statuscode: {answer.status}")
    return failure(f'Get "{url}": stopped after {MAX_REDIRECTS} redirects')


def _unfollowed(answer: _Answer) -> Outcome:
    return warning(f"Probe terminated redirects, Response body: {kept(answer.body)}")


async def _get(url: SplitResult, headers: list[tuple[str, str]]) -> _Answer:
    secure = url.scheme == "https"
    if url.scheme not in ("http", "https") or not url.hostname:
        raise _BadAnswer(f"unsupported protocol scheme {url.scheme!r}")
    port = url.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        url.hostname, port, ssl=_unverified() if secure else None, limit=_HEAD_BYTES
    )
    try:
        writer.write(request(url, headers))
        return await _read(reader)
    finally:
        # not waited for: a TLS peer may never say goodbye
        writer.transport.abort() if secure else writer.close()


@cache
def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def request(url: SplitResult, headers: list[tuple[str, str]]) -> bytes:
    """The request; a Host, User-Agent or Accept of the manifest wins, one that is empty leaves it out."""
    given = {name.lower() for name, _ in headers}
    host = next((value for name, value in headers if name.lower() == "host" and value), url.netloc)
    lines = [("Host", host)]
    lines += [
        (name, value) for name, value in (("User-Agent", USER_AGENT), ("Accept", "*/*")) if name.lower() not in given
    ]
    lines += [(name, value) for name, value in headers if not _left_out(name, value)]
    lines.append(("Connection", "close"))
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return (
        f"GET {_plain(path)} HTTP/1.1\r\n".encode()
        + _without_breaks(text, lines).encode("utf-8", "replace")
        + _LINE_END
    )


def _left_out(name: str, value: str) -> bool:
    lower = name.lower()
    return lower in ("host", "connection") or (not value and lower in ("user-agent", "accept"))


def _plain(path: str) -> str:
    """A path that cannot end the request line."""
    return "".join(char if "!" <= char <= "~" else "".join(f"%{byte:02X}" for byte in char.encode()) for char in path)


def _without_breaks(text: str, lines: list[tuple[str, str]]) -> str:
    """Raises ValueError when a header would be two."""
    if any(char in name + value for name, value in lines for char in "\r\n\0"):
        raise ValueError("net/http: invalid header field value")
    return text


async def _read(reader: asyncio.StreamReader) -> _Answer:
    """Status, Location and the start of the body; interim answers (1xx) are passed over."""
    for _ in range(10):
        head = (await reader.readuntil(_LINE_END * 2)).decode("latin-1").split("\r\n")
        version, _, rest = head[0].partition(" ")
        code = rest.partition(" ")[0]
        if not version.startswith("HTTP/") or len(code) != 3 or not code.isascii() or not code.isdigit():
            raise _BadAnswer(f"malformed HTTP response {head[0][:60]!r}")
        if not 100 <= int(code) < 200 or int(code) == 101:
            break
    else:
        raise _BadAnswer("too many 1xx informational responses")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    length = "0" if code in ("204", "304") else fields.get("content-length", "")
    return _Answer(int(code), fields.get("location", ""), await _body(reader, length))


async def _body(reader: asyncio.StreamReader, length: str) -> bytes:
    """Its first bytes: until that many came, the peer closed, or the limit is reached."""
    wanted = min(int(length), OUTPUT_BYTES) if length.isascii() and length.isdigit() else OUTPUT_BYTES
    body = b""
    while len(body) < wanted:
        part = await reader.read(wanted - len(body))
        if not part:
            break
        body += part
        if body.endswith(b"0\r\n\r\n"):
            # the end of chunks, from a peer that does not close
            break
    return body
