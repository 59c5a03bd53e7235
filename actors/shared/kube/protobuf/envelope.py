"""The envelope of each object in protobuf: a magic number, then its version and kind, then the object (runtime.Unknown
of k8s.io/apimachinery). Pure.

The objects of a list are read one by one, so that only one of them is in memory in more than one form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from google.protobuf.descriptor import Descriptor

from proto import k8s_meta_pb2 as meta

from .kinds import descriptor_of
from .reading import read
from .wire import Budget, Malformed, fields
from .writing import Written, write

MAGIC: Final = b"k8s\x00"
_MOST_ITEMS: Final = 500_000
"""Objects of a list. An answer of 64 MiB with as many has 134 bytes for each: none is so small."""
_METADATA, _ITEMS = 1, 2
"""The fields of every list."""
_ENVELOPE: Final = 16
"""Fields of an envelope: it has up to six."""


class TooMuchJson(ValueError):
    """The JSON would have more bytes than are wanted."""


def is_protobuf(data: bytes) -> bool:
    return data.startswith(MAGIC)


def json_pieces(data: bytes, most: int) -> Iterator[bytes]:
    """The object or list as JSON, in pieces that are to be joined: one for each object, so that others may run in
    between. Raises Malformed, also for a kind that is not known, and TooMuchJson for more than `most` bytes."""
    version, kind, raw = _opened(data)
    message = descriptor_of(version, kind)
    if message is None:
        raise Malformed(f"objects of kind {kind[:100]!r} of {version[:100]!r} cannot be read")
    left = most
    for piece in _list(message, version, kind, raw) if kind.endswith("List") else _object(message, version, kind, raw):
        left -= len(piece)
        if left < 0:
            raise TooMuchJson(f"{kind} of more than {most} bytes of JSON")
        yield piece


def to_json(data: bytes, most: int) -> bytes:
    """As `json_pieces`, whole."""
    return b"".join(json_pieces(data, most))


def watch_event(frame: bytes) -> tuple[str, bytes]:
    """The type of an event of a watch, and its object: protobuf in its envelope, or JSON. Raises Malformed."""
    event = _fields(frame)
    return _text(event, 1), _bytes(_fields(_bytes(event, 2)), 1)


def from_json(value: Mapping[str, Any]) -> Written | None:
    """An object of this kind, or a list, in its envelope; None for a kind that is not known."""
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or (message := descriptor_of(version, kind)) is None:
        return None
    written = write(message, value)
    envelope = meta.Unknown(typeMeta=meta.TypeMeta(apiVersion=version, kind=kind), raw=written.data)
    return Written(MAGIC + envelope.SerializeToString(), written.unfit, written.unknown)


# -- parts -----------------------------------------------------------------------------------------------------------
def _opened(data: bytes) -> tuple[str, str, bytes]:
    """Version, kind and object. Raises Malformed."""
    if not is_protobuf(data):
        raise Malformed("it does not begin as the API's protobuf does")
    envelope = _fields(data[len(MAGIC) :])
    about = _fields(_bytes(envelope, 1))
    return _text(about, 1), _text(about, 2), _bytes(envelope, 2)


def _fields(data: bytes) -> dict[int, int | bytes]:
    return dict(fields(data, Budget(_ENVELOPE)))


def _bytes(message: dict[int, int | bytes], number: int) -> bytes:
    return _raw(message.get(number, b""))


def _raw(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("a number in place of bytes")
    return value


def _text(message: dict[int, int | bytes], number: int) -> str:
    try:
        return _bytes(message, number).decode()
    except UnicodeDecodeError as error:
        raise Malformed(str(error)) from None


def _object(message: Descriptor, version: str, kind: str, raw: bytes) -> Iterator[bytes]:
    yield msgspec.json.encode({"kind": kind, "apiVersion": version, **read(message, raw)})


def _list(message: Descriptor, version: str, kind: str, raw: bytes) -> Iterator[bytes]:
    """Its items have no kind of their own, as in JSON."""
    yield b'{"kind":%b,"apiVersion":%b' % (msgspec.json.encode(kind), msgspec.json.encode(version))
    item, about = message.fields_by_name["items"].message_type, message.fields_by_name["metadata"].message_type
    before, metadata = b',"items":[', dict[str, Any]()
    for number, value in fields(raw, Budget(_MOST_ITEMS)):
        if number == _ITEMS and item is not None:
            yield before + msgspec.json.encode(read(item, _raw(value)))
            before = b","
        elif number == _METADATA and about is not None:
            metadata = read(about, _raw(value))
    yield (b"]" if before == b"," else b',"items":[]') + b',"metadata":' + msgspec.json.encode(metadata) + b"}"
