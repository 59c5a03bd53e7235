"""The message of a JSON object. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from .schema import is_inline, map_value
from .values import WRITE


class Written(NamedTuple):
    data: bytes
    unfit: list[str]
    """Paths of fields whose value is not of the field's type, such as `spec.hostUsers`."""
    unknown: list[str]
    """Paths of fields that the message does not have."""


class _Unknown(str):
    """The path of a field that the message does not have."""


def write(kind: Descriptor, value: Mapping[str, Any]) -> Written:
    """Write `value` without its kind and apiVersion, which are in the envelope."""
    message = GetMessageClass(kind)()
    found = list(_fill(message, {name: one for name, one in value.items() if name not in ("kind", "apiVersion")}, ""))
    unknown = [str(path) for path in found if isinstance(path, _Unknown)]
    return Written(message.SerializeToString(), [path for path in found if not isinstance(path, _Unknown)], unknown)


def _fill(message: Message, value: object, path: str) -> Iterator[str]:
    """Fill the message. Returns the paths of what does not fit."""
    set_whole = WRITE.get(message.DESCRIPTOR.name)
    if set_whole is not None or not isinstance(value, Mapping):
        try:
            if set_whole is None:
                raise TypeError
            set_whole(message, value)
        except (TypeError, ValueError, OverflowError):
            yield path
        return
    places = _places(message.DESCRIPTOR)
    for name, item in value.items():
        where = f"{path}.{name}" if path else name
        if name not in places:
            yield _Unknown(where)
        elif item is not None:
            place = places[name]
            yield from _set(reduce(getattr, place.within, message), place, item, where)


class _Place(NamedTuple):
    """The position in the message of a field of JSON."""

    within: tuple[str, ...]
    """Names of the inline messages around it, the outermost first."""
    field: FieldDescriptor
    map_value: FieldDescriptor | None
    """The field of each entry's value; None: it is no map."""


@cache
def _places(kind: Descriptor) -> dict[str, _Place]:
    """By name in JSON."""
    found: dict[str, _Place] = {}
    for field in kind.fields:
        if is_inline(field) and field.message_type is not None:
            inner = _places(field.message_type)
            found |= {name: one._replace(within=(field.name, *one.within)) for name, one in inner.items()}
        else:
            found[field.name] = _Place((), field, map_value(field))
    return found


def _set(message: Any, place: _Place, item: Any, path: str) -> Iterator[str]:
    field = place.field
    try:
        if field.is_repeated and not isinstance(item, list if place.map_value is None else Mapping):
            yield path
        elif place.map_value is not None:
            yield from _set_map(getattr(message, field.name), place.map_value, item, path)
        elif field.message_type is None:
            value = [_scalar(field, one) for one in item] if field.is_repeated else _scalar(field, item)
            if field.is_repeated:
                getattr(message, field.name).extend(value)
            else:
                setattr(message, field.name, value)
        elif field.is_repeated:
            for number, one in enumerate(item):
                yield from _fill(getattr(message, field.name).add(), one, f"{path}[{number}]")
        else:
            target = getattr(message, field.name)
            target.SetInParent()
            yield from _fill(target, item, path)
    except (TypeError, ValueError):
        yield path


def _set_map(target: Any, value: FieldDescriptor, item: Any, path: str) -> Iterator[str]:
    for key, one in item.items():
        if value.message_type is None:
            target[key] = _scalar(value, one)
        else:
            yield from _fill(target[key], one, f"{path}[{key}]")


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    """Raises ValueError, TypeError for bytes that are not base64."""
    if field.type != FieldDescriptor.TYPE_BYTES:
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
