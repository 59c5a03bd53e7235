"""Frames of SPDY/3.1, for a client of a runtime's streaming server. Pure.

A peer's headers are not needed, so they are not read. Own headers are compressed without the protocol's dictionary: a
zlib stream declares whether it needs one. There is no flow control: the servers of runtimes have none.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

import msgspec

VERSION: Final = 3
_CONTROL: Final = 1 << 15
_FINAL: Final = 1
HEAD: Final = 8
"""Bytes of the head of a frame."""
_ID: Final = (1 << 31) - 1


def is_version(head: bytes | bytearray) -> bool:
    """Whether a control frame with this head is of this version."""
    return int.from_bytes(head[:2], "big") == _CONTROL | VERSION


class SpdyFrameType(IntEnum):
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class SpdyError(Exception):
    """The peer does not speak SPDY/3.1."""


class SpdyDataFrame(msgspec.Struct, frozen=True):
    """Bytes of a stream. `final`: its last ones."""

    stream: int
    payload: bytes
    final: bool


class SpdyControlFrame(msgspec.Struct, frozen=True):
    """Any other frame. `stream`: 0 if it concerns no stream."""

    kind: int
    stream: int
    payload: bytes
    final: bool


class Encoder:
    """Encodes the frames of a client: the headers of all its streams are one compressed stream."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj()

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """Open a stream. The IDs of a client's streams are odd and increase."""
        block = len(headers).to_bytes(4, "big")
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += len(text).to_bytes(4, "big") + text
        packed = self._compressor.compress(block) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        return _control(SpdyFrameType.SYN_STREAM, stream.to_bytes(4, "big") + bytes(6) + packed)


def data(stream: int, payload: bytes, *, final: bool = False) -> bytes:
    return stream.to_bytes(4, "big") + bytes([_FINAL * final]) + len(payload).to_bytes(3, "big") + payload


def pong(ping: SpdyControlFrame) -> bytes:
    """The answer to a PING: the same frame."""
    return _control(SpdyFrameType.PING, ping.payload)


def _control(kind: SpdyFrameType, payload: bytes) -> bytes:
    head = (_CONTROL | VERSION).to_bytes(2, "big") + int(kind).to_bytes(2, "big")
    return head + bytes(1) + len(payload).to_bytes(3, "big") + payload


class SpdyDecoder:
    """Decodes the frames of a peer."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, received: bytes) -> Iterator[SpdyDataFrame | SpdyControlFrame]:
        """The frames that these bytes complete. Raises SpdyError."""
        self._buffer += received
        left = self._buffer
        while len(left) >= HEAD:
            first, length = int.from_bytes(left[:4], "big"), int.from_bytes(left[5:8], "big")
            if len(left) < HEAD + length:
                return
            payload, final = bytes(left[HEAD : HEAD + length]), bool(left[4] & _FINAL)
            del left[: HEAD + length]
            if not first >> 31:
                yield SpdyDataFrame(first & _ID, payload, final)
                continue
            version, kind = first >> 16 & (_CONTROL - 1), first & 0xFFFF
            if version != VERSION:
                raise SpdyError(f"the peer speaks SPDY/{version}")
            about = kind in (
                SpdyFrameType.SYN_STREAM,
                SpdyFrameType.SYN_REPLY,
                SpdyFrameType.RST_STREAM,
                SpdyFrameType.HEADERS,
                SpdyFrameType.WINDOW_UPDATE,
            )
            stream = int.from_bytes(payload[:4], "big") & _ID if about else 0
            yield SpdyControlFrame(kind, stream, payload, final)
