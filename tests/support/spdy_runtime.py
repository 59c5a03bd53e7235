"""What a runtime's streaming server hears and says in SPDY."""

from __future__ import annotations

import zlib

from actors.http_servers.streaming import spdy
from actors.http_servers.streaming.spdy import SpdyControlFrame, SpdyDataFrame, SpdyFrameType


class SpdyRuntime:
    """Remembers the streams that a client opens, and what comes on each."""

    def __init__(self) -> None:
        self._decoder, self._headers = spdy.SpdyDecoder(), zlib.decompressobj()
        self.streams: dict[int, dict[str, str]] = {}
        self.heard: dict[str, bytes] = {}
        self.ended: list[str] = []
        """Streams that the client has closed."""

    def feed(self, received: bytes) -> None:
        for one in self._decoder.feed(received):
            if isinstance(one, SpdyDataFrame):
                kind = self.streams[one.stream]["streamtype"]
                self.heard[kind] = self.heard.get(kind, b"") + one.payload
                self.ended += [kind] * one.final
            elif one.kind == SpdyFrameType.SYN_STREAM:
                self.streams[one.stream] = self._read(self._headers.decompress(one.payload[10:]))

    @staticmethod
    def _read(block: bytes) -> dict[str, str]:
        found, at = [], 4
        for _ in range(2 * int.from_bytes(block[:4], "big")):
            size = int.from_bytes(block[at : at + 4], "big")
            found.append(block[at + 4 : at + 4 + size].decode())
            at += 4 + size
        assert at == len(block)
        return dict(zip(found[::2], found[1::2], strict=True))

    def says(self, kind: str, payload: bytes, *, final: bool = False) -> bytes:
        stream = next(number for number, headers in self.streams.items() if headers["streamtype"] == kind)
        return spdy.data(stream, payload, final=final)


def control(kind: SpdyFrameType, payload: bytes, flags: int = 0) -> bytes:
    return b"\x80\x03" + int(kind).to_bytes(2, "big") + bytes([flags]) + len(payload).to_bytes(3, "big") + payload


__all__ = ["SpdyControlFrame", "SpdyRuntime", "control"]
