"""Pods in protobuf, as Kubernetes' API writes them, from their JSON. Pure. Imported for the first client.

Fields have the same names in both, except those of INLINE. Fields that proto/pod.proto lacks are omitted, as in a
program built with that version of the API.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from proto import pod_pb2 as core

INLINE: Final[dict[str, str]] = {
    "ConfigMapEnvSource": "localObjectReference",
    "ConfigMapKeySelector": "localObjectReference",
    "ConfigMapProjection": "localObjectReference",
    "ConfigMapVolumeSource": "localObjectReference",
    "EphemeralContainer": "ephemeralContainerCommon",
    "Probe": "handler",
    "SecretEnvSource": "localObjectReference",
    "SecretKeySelector": "localObjectReference",
    "SecretProjection": "localObjectReference",
    "Volume": "volumeSource",
}
"""By message: the field whose own fields are one level higher in JSON."""


class EncodedPod(NamedTuple):
    data: bytes
    left_out: list[str]
    """Paths of fields whose value is not of the field's type, such as `spec.hostUsers`."""


def encoded(pod: bytes) -> EncodedPod:
    """`pod`: JSON of a v1 Pod. Raises msgspec.DecodeError."""
    message = core.Pod()
    left_out = list(_fill(message, msgspec.json.decode(pod, type=dict[str, Any]), ""))
    return EncodedPod(message.SerializeToString(), left_out)


def _fill(message: Message, value: object, path: str) -> Iterator[str]:
    """Fill the message. Returns the paths of values that do not fit."""
    write = _SCALARS.get(message.DESCRIPTOR.name)
    if write is not None or not isinstance(value, Mapping):
        try:
            if write is None:
                raise TypeError
            write(message, value)
        except (TypeError, ValueError, OverflowError):
            yield path
        return
    inline = INLINE.get(message.DESCRIPTOR.name, "")
    for name, item in value.items():
        for holder in (message, getattr(message, inline)) if inline else (message,):
            field = holder.DESCRIPTOR.fields_by_name.get(name)
            if field is not None and item is not None and name != inline:
                yield from _set(holder, field, item, f"{path}.{name}" if path else name)


def _set(message: Message, field: Any, item: Any, path: str) -> Iterator[str]:
    kind, target = field.message_type, getattr(message, field.name)
    try:
        if kind is not None and kind.GetOptions().map_entry:
            for key, one in item.items():
                if kind.fields_by_name["value"].message_type is None:
                    target[key] = one
                else:
                    yield from _fill(target[key], one, f"{path}[{key}]")
        elif field.is_repeated and kind is not None:
            for number, one in enumerate(item):
                yield from _fill(target.add(), one, f"{path}[{number}]")
        elif field.is_repeated:
            target.extend(item)
        elif kind is not None:
            target.SetInParent()
            yield from _fill(target, item, path)
        elif field.type == FieldDescriptor.TYPE_BYTES:
            setattr(message, field.name, base64.b64decode(item, validate=True))
        else:
            setattr(message, field.name, item)
    except (TypeError, ValueError, AttributeError, binascii.Error):
        yield path


# -- messages that are one value in JSON -----------------------------------------------------------------------------
def _quantity(message: Any, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    message.string = str(value)


def _time(message: Any, value: Any) -> None:
    """A time in whole seconds, as in the API."""
    message.seconds = int(datetime.datetime.fromisoformat(value).timestamp())
    message.nanos = 0


def _int_or_string(message: Any, value: object) -> None:
    message.type = int(isinstance(value, str))
    message.intVal, message.strVal = (0, value) if message.type else (value, "")


def _fields(message: Any, value: object) -> None:
    message.Raw = msgspec.json.encode(value)


_SCALARS: Final[dict[str, Callable[[Any, Any], None]]] = {
    "FieldsV1": _fields,
    "IntOrString": _int_or_string,
    "Quantity": _quantity,
    "Time": _time,
}
