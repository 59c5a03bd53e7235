"""Frames of a WebSocket (RFC 6455), for a server. Pure.

docs/decisions/websocket-frames.md explains why tornado's are not used.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MOST_BYTES: Final = 1 << 20
"""The most bytes of one message; clients send 32 KiB."""
_MOST_CONTROL: Final = 125
_FINAL, _RESERVED, _OPCODE, _MASKED, _LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F
_CONTROL: Final = 0x8


class Opcode(IntEnum):
    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class WebSocketError(Exception):
    """The client violates the protocol, or its message is too large. `code` is for the close frame (RFC 6455, 7.4)."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)


Message = tuple[Opcode, bytes]


class WebSocketDecoder:
    """The messages of a client, whose frames are masked."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._kind: Opcode | None = None
        """The opcode of the message whose fragments are being received."""
        self._parts = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that these bytes complete. Raises WebSocketError."""
        self._buffer += data
        while (frame := self._frame()) is not None:
            final, kind, payload = frame
            if kind >= _CONTROL:
                yield kind, payload
                continue
            if (kind is Opcode.CONTINUATION) != (self._kind is not None):
                raise WebSocketError(1002, "fragments are out of order")
            self._kind = self._kind or kind
            self._parts += payload
            if len(self._parts) > MOST_BYTES:
                raise WebSocketError(1009, f"a message has more than {MOST_BYTES} bytes")
            if final:
                message, self._kind = (self._kind, bytes(self._parts)), None
                self._parts.clear()
                yield message

    def _frame(self) -> tuple[bool, Opcode, bytes] | None:
        """The next frame; None if it is not complete."""
        left = self._buffer
        if len(left) < 2:
            return None
        first, second = left[0], left[1]
        try:
            kind = Opcode(first & _OPCODE)
        except ValueError:
            raise WebSocketError(1002, "a frame has an unknown opcode") from None
        if first & _RESERVED or not second & _MASKED:
            raise WebSocketError(1002, "a frame has reserved bits, or no mask")
        length, start = second & _LENGTH, 2
        if kind >= _CONTROL and (length > _MOST_CONTROL or not first & _FINAL):
            raise WebSocketError(1002, "a control frame is too long, or a fragment")
        if length > _MOST_CONTROL:
            size = 2 if length == _MOST_CONTROL + 1 else 8
            if len(left) < start + size:
                return None
            length, start = int.from_bytes(left[start : start + size], "big"), start + size
        if length > MOST_BYTES:
            raise WebSocketError(1009, f"a frame has more than {MOST_BYTES} bytes")
        end = start + 4 + length
        if len(left) < end:
            return None
        payload = unmasked(bytes(left[start + 4 : end]), bytes(left[start : start + 4]))
        del left[:end]
        return bool(first & _FINAL), kind, payload


def unmasked(data: bytes, mask: bytes) -> bytes:
    """The payload without its mask; the same function masks it."""
    if not data:
        return data
    key = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(len(data), "big")


def frame(kind: Opcode, payload: bytes) -> bytes:
    """A whole message of a server."""
    length = len(payload)
    if length <= _MOST_CONTROL:
        size = bytes([length])
    elif length < 1 << 16:
        size = bytes([126]) + length.to_bytes(2, "big")
    else:
        size = bytes([127]) + length.to_bytes(8, "big")
    return bytes([_FINAL | kind]) + size + payload


def close_frame(code: int = 1000, text: str = "") -> bytes:
    return frame(Opcode.CLOSE, code.to_bytes(2, "big") + text.encode()[: _MOST_CONTROL - 2])


def accepted(key: str, protocol: str) -> bytes:
    """The head of the answer to a handshake. `key`: Sec-WebSocket-Key."""
    proof = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()  # noqa: S324 - as the RFC has it
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {proof}",
        f"Sec-WebSocket-Protocol: {protocol}",
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
