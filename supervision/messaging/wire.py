"""Frames on a socket between two processes of the tree. No I/O here.

A frame is a 4-byte big-endian header and a body. The high bits of the header mark pieces and acknowledgements:

    whole    length                    body: msgpack of (sender, type name, ask id, answer id, the message)
    piece    PIECE [| LAST] | length   a part of the body of a large message
    ack      ACK | count               the number of handled messages; no body

Messages over LARGE_BYTES travel in pieces, so that neither end is busy with one for long. Frames are read in the order
in which they were written: a small message waits behind a large one that was sent before it (50 MB take some 50 ms).
Only acknowledgements pass between pieces. Ask id 0: no question. Answer id 0: no answer.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ..errors import UNREADABLE
from ..message import Message, known_types, registered, type_name
from ..readable_texts import readable

PIECE, LAST, ACK = 1 << 31, 1 << 30, 1 << 29
_LENGTH = (1 << 28) - 1
LARGE_BYTES = 64 * 1024
MAX_BYTES = 64 * 1024 * 1024 + LARGE_BYTES
"""A message may have 64 MiB, and its envelope a little more."""
TAKE_BYTES = 256 * 1024
"""About the size of one write."""

_header = struct.Struct("!I")
_encoder = msgspec.msgpack.Encoder()
_envelope = msgspec.msgpack.Decoder(tuple[str, str, int, int, msgspec.Raw])
_decoders: dict[str, msgspec.msgpack.Decoder[Message]] = {}
_names: dict[type, str] = {}


class WireError(Exception):
    """The data is not a valid frame, names an unknown message type, or is too large: the connection is dropped."""


class Frame(NamedTuple):
    """A received message. An unregistered type is refused at once; the fields are decoded when it is handled."""

    sender: str
    type: str
    ask: int
    answer: int
    raw: msgspec.Raw
    size: int
    """Bytes of the body."""

    def message(self) -> Message:
        """Decode it. Raises WireError if the fields do not match the type."""
        try:
            return _decoder(self.type).decode(self.raw)
        except UNREADABLE as error:
            raise WireError(f"{self.type} from {self.sender}: {error}") from error


class Ack(NamedTuple):
    """The number of handled messages."""

    handled: int


def encode(sender: str, message: Message, ask: int = 0, answer: int = 0) -> bytes:
    """The body of a frame. Lone surrogates in its texts are replaced. Raises WireError when it is over 64 MiB."""
    kind = type(message)
    name = _names.get(kind) or _names.setdefault(kind, type_name(kind))
    try:
        body = _encoder.encode((sender, name, ask, answer, message))
    except UnicodeEncodeError:  # the name of somebody's file: it ends no actor that speaks of it
        body = _encoder.encode((sender, name, ask, answer, readable(message)))
    if len(body) > MAX_BYTES:
        raise WireError(f"{name} has {len(body)} bytes, more than {MAX_BYTES}")
    return body


def decode(body: bytes | bytearray | memoryview) -> Frame:
    """Decode a body. Raises WireError if it is not valid, or its message type is not registered."""
    try:
        sender, kind, ask, answer, raw = _envelope.decode(body)
    except UNREADABLE as error:
        raise WireError(f"bad frame: {error}") from error
    _decoder(kind)
    return Frame(sender, kind, ask, answer, raw, len(body))


def ack(count: int) -> bytes:
    """An acknowledgement as bytes."""
    return _header.pack(ACK | count)


def prepare() -> None:
    """Make every decoder before the first fork, so that processes share them."""
    for kind in known_types():
        _decoder(kind)


def _decoder(kind: str) -> msgspec.msgpack.Decoder[Message]:
    found = _decoders.get(kind)
    if found is None:
        message_type = registered(kind)
        if message_type is None:
            raise WireError(f"unknown message type {kind!r}")
        found = _decoders[kind] = msgspec.msgpack.Decoder(message_type)
    return found


class FrameReader:
    """Parses received bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""
        self._large = bytearray()

    @property
    def incomplete_bytes(self) -> int:
        """The bytes received of an incomplete large message."""
        return len(self._large)

    def feed(self, data: bytes) -> Iterator[Frame | Ack]:
        """Add bytes; return the completed frames. After a WireError the reader cannot be used again."""
        if self._rest:
            data = self._rest + data
        view, at, end = memoryview(data), 0, len(data)
        while end - at >= 4:
            (header,) = _header.unpack_from(data, at)
            if header & ACK:
                at += 4
                yield Ack(header & _LENGTH)
                continue
            length = header & _LENGTH
            if length > LARGE_BYTES:
                raise WireError(f"a frame of {length} bytes")
            if end - at - 4 < length:
                break
            body = view[at + 4 : at + 4 + length]
            at += 4 + length
            if header & PIECE:
                if (whole := self._piece(body, bool(header & LAST))) is not None:
                    yield decode(whole)
            elif self._large:
                raise WireError("a message within a large one")
            else:
                yield decode(body)
        self._rest = bytes(view[at:]) if at < end else b""

    def _piece(self, body: memoryview, last: bool) -> bytearray | None:
        if len(self._large) + len(body) > MAX_BYTES:
            raise WireError("a large message has no end")
        self._large += body
        if not last:
            return None
        whole, self._large = self._large, bytearray()
        return whole


class FrameWriter:
    """The frames to send, in order; acknowledgements first."""

    def __init__(self) -> None:
        self._acks: list[bytes] = []
        self._bodies: deque[bytes | memoryview] = deque()
        self._in_pieces = False
        """Whether a part of the first body has been sent already."""
        self.waiting_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._acks or self._bodies)

    def add(self, body: bytes) -> None:
        """Queue a frame's body."""
        self.waiting_bytes += len(body)
        self._bodies.append(body)

    def add_ack(self, count: int) -> None:
        self._acks.append(ack(count))

    def take(self) -> bytes:
        """The next bytes to send: small messages up to the next large one, or one piece of it; empty for nothing."""
        parts: list[bytes | memoryview] = list(self._acks)
        self._acks.clear()
        size = 0
        while self._bodies and not self._is_large and size < TAKE_BYTES:
            body = self._bodies.popleft()
            size += len(body)
            parts += (_header.pack(len(body)), body)
        if size == 0 and self._bodies:
            size = len(piece := self._piece())
            parts += (_header.pack(PIECE | (0 if self._in_pieces else LAST) | size), piece)
        self.waiting_bytes -= size
        return b"".join(parts)

    @property
    def _is_large(self) -> bool:
        return self._in_pieces or len(self._bodies[0]) > LARGE_BYTES

    def _piece(self) -> memoryview:
        head = memoryview(self._bodies.popleft())
        piece, rest = head[:LARGE_BYTES], head[LARGE_BYTES:]
        self._in_pieces = bool(rest)
        if rest:
            self._bodies.appendleft(rest)
        return piece
