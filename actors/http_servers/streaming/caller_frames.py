"""A caller's frames of SPDY/3.1, checked before a runtime gets them. Pure.

Servers of runtimes made before April 2026 take as much memory as a frame announces: one of 60 bytes, from whoever may
exec into a pod of his own, ends containerd (CVE-2026-35469), and the node is out of memory with it. So each control
frame must have the length of its kind, and its headers must be complete, and few. Data passes as it comes.
"""

from __future__ import annotations

import zlib
from typing import Final

from .spdy import HEAD, SpdyError, SpdyFrameType, is_version

MOST_FRAME_BYTES: Final = 64 << 10
MOST_BLOCK_BYTES: Final = 64 << 10
"""Of the headers of a frame, inflated."""
MOST_HEADERS: Final = 1000
_LENGTHS: Final = {
    SpdyFrameType.RST_STREAM: 8,
    SpdyFrameType.PING: 4,
    SpdyFrameType.GOAWAY: 8,
    SpdyFrameType.WINDOW_UPDATE: 8,
}
_HEADERS_AT: Final = {SpdyFrameType.SYN_STREAM: 10, SpdyFrameType.SYN_REPLY: 4, SpdyFrameType.HEADERS: 4}
_NAMES: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_LAST_NAMES: Final = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TEXT: Final = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    b"404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    b"publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = (
    b"".join(len(name).to_bytes(4, "big") + name.encode() for name in (*_NAMES.split(), *_LAST_NAMES)) + _TEXT
)
"""The protocol's dictionary of compressed headers (draft-mbelshe-httpbis-spdy-00, 2.6.10.1)."""


class CallerFrames:
    """The frames of one caller."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        """The beginning of a frame that is not complete."""
        self._data = 0
        """Bytes of a frame of data that are still to come."""
        self._headers = zlib.decompressobj(zdict=DICTIONARY)  # those of all frames are one compressed stream

    def checked(self, received: bytes) -> bytes:
        """The bytes that may be passed on now. Raises SpdyError: none of them may, nor any later ones."""
        self._waiting += received
        passed, at, end = 0, 0, len(self._waiting)
        while at < end:
            if self._data:
                step = min(self._data, end - at)
                self._data -= step
            elif (step := self._frame_at(at)) == 0:
                break
            at += step
            passed = at
        found = bytes(self._waiting[:passed])
        del self._waiting[:passed]
        return found

    def _frame_at(self, at: int) -> int:
        """The length of a control frame, or of the head of a frame of data; 0 while it is not complete."""
        head = self._waiting[at : at + HEAD]
        if len(head) < HEAD:
            return 0
        length = int.from_bytes(head[5:], "big")
        if not head[0] >> 7:
            self._data = length
            return HEAD
        if length > MOST_FRAME_BYTES:
            raise SpdyError(f"a control frame of {length} bytes")
        if len(self._waiting) < at + HEAD + length:
            return 0
        if not is_version(head):
            raise SpdyError("the caller does not speak SPDY/3")
        self._check(int.from_bytes(head[2:4], "big"), bytes(self._waiting[at + HEAD : at + HEAD + length]))
        return HEAD + length

    def _check(self, kind: int, payload: bytes) -> None:
        """Raises SpdyError. A server may read what it expects of a kind, and take the rest for the next frame."""
        if kind in _HEADERS_AT:
            self._check_headers(payload[_HEADERS_AT[SpdyFrameType(kind)] :])
        elif kind == SpdyFrameType.SETTINGS:
            if len(payload) != 4 + 8 * int.from_bytes(payload[:4], "big"):
                raise SpdyError("settings that are not complete")
        elif _LENGTHS.get(kind) != len(payload):  # type: ignore[call-overload]
            raise SpdyError(f"a frame of kind {kind} with {len(payload)} bytes")

    def _check_headers(self, packed: bytes) -> None:
        try:
            block = self._headers.decompress(packed, MOST_BLOCK_BYTES + 1)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be read: {error}") from None
        if len(block) > MOST_BLOCK_BYTES or self._headers.eof:
            raise SpdyError(f"headers of more than {MOST_BLOCK_BYTES} bytes")
        count, at = int.from_bytes(block[:4], "big"), 4
        if count > MOST_HEADERS:
            raise SpdyError(f"{count} headers")
        for _ in range(2 * count):  # name and value
            at += 4 + int.from_bytes(block[at : at + 4], "big")
            if at > len(block):
                break
        if at != len(block):
            raise SpdyError("headers that are not complete")
