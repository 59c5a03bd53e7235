"""Objects of the Kubernetes API made by chance, with any of the fields that their messages have."""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from actors.shared.kube.protobuf.schema import Field, Scalar, Shape, schema_of

TEXTS = ("a", "web-0", "ü", "名", "x" * 200, '"\\\n', "\x00")
_VALUES: dict[str, Callable[[Random], Any]] = {
    "ExtraValue": lambda chance: chance.choices(TEXTS, k=chance.randrange(1, 3)),
    "FieldsV1": lambda chance: {"f:metadata": {"f:labels": {".": {}, f"f:{chance.choice('ab')}": {}}}},
    "IntOrString": lambda chance: chance.choice((0, 80, -1, "http", "50%", "")),
    "MicroTime": lambda chance: f"2026-11-30T12:00:{chance.randrange(60):02d}.{chance.randrange(10**6):06d}Z",
    "Quantity": lambda chance: chance.choice(("0", "100m", "1.5Gi", "12e6", "2")),
    "RawExtension": lambda chance: {"kind": "Settings", "list": [1, None, {"a": "b"}]},
    "Time": lambda chance: chance.choice(("1970-01-01T00:00:00Z", "2026-11-30T12:00:00Z", "1969-12-31T23:59:59Z")),
}


def made_by(chance: Random, kind: Descriptor, share: float = 0.5) -> dict[str, Any]:
    """The JSON of an object as an API server writes it; `share`: how many of its fields it has."""
    made: dict[str, Any] = {}
    schema = schema_of(kind)
    always = dict(schema.always)
    for number, field in schema.fields.items():
        told = kind.fields_by_number[number]
        if field.shape is Shape.INLINE:
            assert field.message is not None
            made |= made_by(chance, field.message, share)
        elif field.name in always or chance.random() < share:
            made[field.name] = _value(chance, field, told, share * 0.8)
    return made


def _value(chance: Random, field: Field, told: FieldDescriptor, share: float) -> Any:
    count = chance.randrange(1, 3)
    if field.shape is Shape.MANY:
        return [_one(chance, field, told, share) for _ in range(count)]
    if field.shape is Shape.MAP:
        return {key: _one(chance, field, told, share) for key in chance.sample(TEXTS, count)}
    return _one(chance, field, told, share)


def _one(chance: Random, field: Field, told: FieldDescriptor, share: float) -> Any:
    if field.message is not None:
        whole = _VALUES.get(field.message.name)
        return whole(chance) if whole is not None else made_by(chance, field.message, share)
    empty = field.keeps_empty or field.shape is not Shape.ONE
    if field.scalar is Scalar.BOOL:
        return chance.random() < 0.5 if empty else True
    if field.scalar is Scalar.NUMBER:
        bits = 31 if told.type == FieldDescriptor.TYPE_INT32 else 63
        return chance.choice((1, -1, (1 << bits) - 1, -(1 << bits), 300, *((0,) if empty else ())))
    text = chance.choice((*TEXTS, *(("",) if empty else ())))
    return text if field.scalar is Scalar.TEXT else base64.b64encode(text.encode()).decode()
