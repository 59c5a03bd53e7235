"""Whether a runtime has told how a command ended, on a SPDY connection that is passed on as it is. Pure.

For a client of SPDY, as of a WebSocket, a stream of errors that ends without a word is a command that has succeeded.
"""

from __future__ import annotations

from typing import Final

from . import spdy
from .lost_status import lost_status
from .spdy import SpdyError, SpdyFrameType

_HEAD: Final = 8
_RESET_HEAD: Final = 12
"""With the ID of the stream that a RST_STREAM ends."""


class PassedStatus:
    """Sees all that passes on one connection, and copies nothing of it but heads of frames."""

    def __init__(self) -> None:
        self._caller: spdy.SpdyDecoder | None = spdy.SpdyDecoder()
        self._errors = 0
        """The stream of errors: the first one that a client opens, in each version of Kubernetes' own; 0: none yet."""
        self._head = bytearray()
        self._rest = 0
        """Bytes of the runtime's frame that are still to come."""
        self._told = False

    def from_caller(self, data: bytes) -> None:
        if self._caller is None:
            return
        try:
            opened = [one.stream for one in self._caller.feed(data) if _opens(one)]
        except SpdyError:
            self._caller = None
            return
        if opened:
            self._errors, self._caller = opened[0], None

    def from_runtime(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            if self._rest:
                passed = min(self._rest, len(data) - at)
                self._rest -= passed
                at += passed
                continue
            wanted = _RESET_HEAD if len(self._head) >= _HEAD else _HEAD
            piece = data[at : at + wanted - len(self._head)]
            self._head += piece
            at += len(piece)
            if len(self._head) == wanted:
                self._read_head()

    def _read_head(self) -> None:
        first, length = int.from_bytes(self._head[:4], "big"), int.from_bytes(self._head[5:_HEAD], "big")
        if not first >> 31:
            self._told = self._told or first == self._errors
        elif first & 0xFFFF == SpdyFrameType.RST_STREAM and length >= _RESET_HEAD - _HEAD:
            if len(self._head) < _RESET_HEAD:
                return
            self._told = self._told or int.from_bytes(self._head[_HEAD:], "big") == self._errors
            length -= _RESET_HEAD - _HEAD
        self._rest = length
        self._head.clear()

    def last_words(self, cause: str) -> bytes:
        """What the caller is told at the end; nothing if it knows how the command ended, or is amid a frame."""
        if self._told or not self._errors or self._head or self._rest:
            return b""
        return spdy.data(self._errors, lost_status(cause), final=True)


def _opens(frame: spdy.SpdyDataFrame | spdy.SpdyControlFrame) -> bool:
    return isinstance(frame, spdy.SpdyControlFrame) and frame.kind == SpdyFrameType.SYN_STREAM
