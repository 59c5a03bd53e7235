"""Frames: what goes over a socket between two processes of the tree. No I/O here.

A frame is a 4-byte big-endian header and a body. The two low flags of the header tell pieces and acknowledgements:

    whole    length                    body: msgpack of (sender, type name, ask id, answer id, the message)
    piece    PIECE [| LAST] | length   a part of the body of a large message; one large message at a time each way
    ack      ACK [| LARGE] | count     so many messages of that lane were handled; no body

Messages over LARGE_BYTES travel in pieces, between which whole frames pass. So the order of messages is kept among the
small ones and among the large ones, and a small one may overtake a large one (but not where order matters, see
`link.py`). Ask id 0: no question. Answer id 0: no answer.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from .errors import UNREADABLE
from .message import Message, known_types, registered, type_name

PIECE, LAST, ACK, LARGE = 1 << 31, 1 << 30, 1 << 29, 1 << 28
_LENGTH = (1 << 28) - 1
LARGE_BYTES = 64 * 1024
MAX_BYTES = 64 * 1024 * 1024 + LARGE_BYTES
"""A message may have 64 MiB, and its envelope a little more."""

_header = struct.Struct("!I")
_encoder = msgspec.msgpack.Encoder()
_envelope = msgspec.msgpack.Decoder(tuple[str, str, int, int, msgspec.Raw])
_decoders: dict[str, msgspec.msgpack.Decoder[Message]] = {}
_names: dict[type, str] = {}


class WireError(Exception):
    """What came is not a frame of ours, names an unknown message type, or is too large: the connection is dropped."""


class Frame(NamedTuple):
    """One message as it came: decoded when it is handled, refused before if its type is not registered."""

    sender: str
    type: str
    ask: int
    answer: int
    raw: msgspec.Raw
    large: bool

    def message(self) -> Message:
        """Raises WireError when the fields are not those of the type."""
        try:
            return _decoder(self.type).decode(self.raw)
        except UNREADABLE as error:
            raise WireError(f"{self.type} from {self.sender}: {error}") from error


class Ack(NamedTuple):
    """So many messages of a lane were handled."""

    handled: int
    large: bool


def encode(sender: str, message: Message, ask: int = 0, answer: int = 0) -> bytes:
    """The body of a frame. Raises WireError when it is over 64 MiB."""
    kind = type(message)
    name = _names.get(kind) or _names.setdefault(kind, type_name(kind))
    body = _encoder.encode((sender, name, ask, answer, message))
    if len(body) > MAX_BYTES:
        raise WireError(f"{name} has {len(body)} bytes, more than {MAX_BYTES}")
    return body


def decode(body: bytes | bytearray | memoryview, large: bool = False) -> Frame:
    """Raises WireError when it is not one, or its message type is not registered."""
    try:
        sender, kind, ask, answer, raw = _envelope.decode(body)
    except UNREADABLE as error:
        raise WireError(f"bad frame: {error}") from error
    _decoder(kind)
    return Frame(sender, kind, ask, answer, raw, large)


def ack(count: int, large: bool) -> bytes:
    """An acknowledgement, ready to be sent."""
    return _header.pack(ACK | (LARGE if large else 0) | count)


def prepare() -> None:
    """Make every decoder now, before there are processes that would each make their own."""
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


class Reader:
    """Makes frames of the bytes that arrive."""

    def __init__(self) -> None:
        self._rest = b""
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0

    def feed(self, data: bytes) -> Iterator[Frame | Ack]:
        """What is complete now. Raises WireError; nothing may be fed after that."""
        if self._rest:
            data = self._rest + data
        view, at, end = memoryview(data), 0, len(data)
        while end - at >= 4:
            (header,) = _header.unpack_from(data, at)
            if header & ACK:
                at += 4
                yield Ack(header & _LENGTH, bool(header & LARGE))
                continue
            length = header & _LENGTH
            if length > LARGE_BYTES:
                raise WireError(f"a frame of {length} bytes")
            if end - at - 4 < length:
                break
            body = view[at + 4 : at + 4 + length]
            at += 4 + length
            if not header & PIECE:
                yield decode(body)
            elif (whole := self._piece(body, bool(header & LAST))) is not None:
                yield decode(whole, large=True)
        self._rest = bytes(view[at:]) if at < end else b""

    def _piece(self, body: memoryview, last: bool) -> bytes | None:
        self._pieces_bytes += len(body)
        if self._pieces_bytes > MAX_BYTES:
            raise WireError("a large message has no end")
        self._pieces.append(bytes(body))
        if not last:
            return None
        whole, self._pieces, self._pieces_bytes = b"".join(self._pieces), [], 0
        return whole


class Writer:
    """What is to be sent, in the order in which it may go: all that is small, then a piece of what is large."""

    def __init__(self) -> None:
        self._small: list[bytes] = []
        self._large: deque[memoryview] = deque()
        self.waiting_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._small or self._large)

    def add(self, body: bytes) -> None:
        """Queue a frame's body."""
        self.waiting_bytes += len(body)
        if len(body) <= LARGE_BYTES:
            self._small += (_header.pack(len(body)), body)
        else:
            self._large.append(memoryview(body))

    def add_ack(self, count: int, large: bool) -> None:
        self._small.append(ack(count, large))

    def take(self) -> bytes:
        """The next bytes to send, at most one piece of a large message; empty when there is nothing."""
        parts, self._small = self._small, []
        if self._large:
            parts += self._piece()
        data = b"".join(parts)
        self.waiting_bytes = sum(map(len, self._large))
        return data

    def _piece(self) -> tuple[bytes, bytes]:
        head = self._large[0]
        piece, rest = head[:LARGE_BYTES], head[LARGE_BYTES:]
        if rest:
            self._large[0] = rest
            return _header.pack(PIECE | len(piece)), bytes(piece)
        self._large.popleft()
        return _header.pack(PIECE | LAST | len(piece)), bytes(piece)


def is_large(body: bytes) -> bool:
    """Whether it travels in pieces."""
    return len(body) > LARGE_BYTES
