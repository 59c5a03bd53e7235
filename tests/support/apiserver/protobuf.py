"""Bodies that kubectl sends as protobuf (`application/vnd.kubernetes.protobuf`): the few kinds it makes by itself.

The envelope is runtime.Unknown after the magic `k8s\\0`; field numbers are those of generated.proto of each API group.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import StatusError
from .objects import Obj

MAGIC = b"k8s\x00"
_VARINT, _BYTES = 0, 2


@dataclass(frozen=True)
class Field:
    name: str
    read: Callable[[Any], Any]
    repeated: bool = False
    mapped: bool = False


Schema = dict[int, Field]


def _text(data: bytes) -> str:
    return data.decode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _same(value: Any) -> Any:
    return value


def _message(schema: Schema) -> Callable[[bytes], Obj]:
    return lambda data: decoded(schema, data)


_META: Schema = {
    1: Field("name", _text),
    2: Field("generateName", _text),
    3: Field("namespace", _text),
    5: Field("uid", _text),
    6: Field("resourceVersion", _text),
    11: Field("labels", _text, mapped=True),
    12: Field("annotations", _text, mapped=True),
    14: Field("finalizers", _text, repeated=True),
}
_METADATA = Field("metadata", _message(_META))
_PRECONDITIONS: Schema = {1: Field("uid", _text), 2: Field("resourceVersion", _text)}
_DELETE: Schema = {
    1: Field("gracePeriodSeconds", _same),
    2: Field("preconditions", _message(_PRECONDITIONS)),
    4: Field("propagationPolicy", _text),
}
_REFERENCE: Schema = {
    1: Field("kind", _text),
    2: Field("apiVersion", _text),
    3: Field("name", _text),
    4: Field("uid", _text),
}
_TOKEN: Schema = {
    1: Field("audiences", _text, repeated=True),
    3: Field("boundObjectRef", _message(_REFERENCE)),
    4: Field("expirationSeconds", _same),
}
_TIME: Schema = {1: Field("seconds", _same)}


def _timestamp(data: bytes) -> str:
    seconds = decoded(_TIME, data).get("seconds", 0)
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_CSR_CONDITION: Schema = {
    1: Field("type", _text),
    2: Field("reason", _text),
    3: Field("message", _text),
    4: Field("lastUpdateTime", _timestamp),
    5: Field("lastTransitionTime", _timestamp),
    6: Field("status", _text),
}
_CSR_SPEC: Schema = {
    1: Field("request", _base64),
    2: Field("username", _text),
    3: Field("uid", _text),
    4: Field("groups", _text, repeated=True),
    5: Field("usages", _text, repeated=True),
    7: Field("signerName", _text),
    8: Field("expirationSeconds", _same),
}
_CSR_STATUS: Schema = {
    1: Field("conditions", _message(_CSR_CONDITION), repeated=True),
    2: Field("certificate", _base64),
}
KINDS: dict[str, Schema] = {
    "ConfigMap": {1: _METADATA, 2: Field("data", _text, mapped=True), 3: Field("binaryData", _base64, mapped=True)},
    "Secret": {
        1: _METADATA,
        2: Field("data", _base64, mapped=True),
        3: Field("type", _text),
        4: Field("stringData", _text, mapped=True),
    },
    "CertificateSigningRequest": {
        1: _METADATA,
        2: Field("spec", _message(_CSR_SPEC)),
        3: Field("status", _message(_CSR_STATUS)),
    },
    "Namespace": {1: _METADATA},
    "ServiceAccount": {1: _METADATA},
    "TokenRequest": {1: _METADATA, 2: Field("spec", _message(_TOKEN))},
    "Eviction": {1: _METADATA, 2: Field("deleteOptions", _message(_DELETE))},
    "DeleteOptions": _DELETE,
}
_TYPE: Schema = {1: Field("apiVersion", _text), 2: Field("kind", _text)}
_ENVELOPE: Schema = {1: Field("type", _message(_TYPE)), 2: Field("raw", _same)}


def body(data: bytes) -> Obj:
    """Raises StatusError 415 for a kind that is not known here."""
    envelope = decoded(_ENVELOPE, data.removeprefix(MAGIC))
    kind = envelope.get("type", {}).get("kind", "")
    if kind not in KINDS:
        raise StatusError(
            415, f"a {kind} as protobuf is not read here - accepted media types include: application/json"
        )
    return {**envelope["type"], **decoded(KINDS[kind], envelope.get("raw", b""))}


def decoded(schema: Schema, data: bytes) -> Obj:
    made: Obj = {}
    for number, value in _fields(data):
        field = schema.get(number)
        if field is None:
            continue
        if field.mapped:
            entry = dict(_fields(value))
            made.setdefault(field.name, {})[_text(entry.get(1, b""))] = field.read(entry.get(2, b""))
        elif field.repeated:
            made.setdefault(field.name, []).append(field.read(value))
        else:
            made[field.name] = field.read(value)
    return made


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        if key & 7 == _VARINT:
            value, position = _varint(data, position)
            yield key >> 3, value
        elif key & 7 == _BYTES:
            size, position = _varint(data, position)
            yield key >> 3, data[position : position + size]
            position += size
        else:
            raise StatusError(400, "protobuf: a wire type that none of these kinds has")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
