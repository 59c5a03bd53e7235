"""Messages that are one value in JSON: times, quantities, raw JSON, lists of strings. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from actors.shared.kube.times import rfc3339

from .wire import Budget, Malformed, fields

_SIGN: Final = 1 << 63
_check_json: Final = msgspec.json.Decoder(msgspec.Raw).decode


def signed(number: Any) -> int:
    """An int32 or int64 of its varint. Raises TypeError for bytes."""
    return int(number if number < _SIGN else number - (1 << 64))


def text(value: Any) -> str:
    """Raises TypeError for a number, UnicodeDecodeError."""
    return str(value, "utf-8")


# -- from protobuf -----------------------------------------------------------------------------------------------------
def _time(data: bytes, budget: Budget) -> str | None:
    """None for the zero time, which Kubernetes writes as an empty message."""
    parts = dict(fields(data, budget))
    return rfc3339(signed(parts.get(1, 0))) if parts else None


def _micro_time(data: bytes, budget: Budget) -> str | None:
    parts = dict(fields(data, budget))
    if not parts:
        return None
    micros = signed(parts.get(2, 0)) // 1000
    if not 0 <= micros < 1_000_000:
        raise Malformed("a time with more nanoseconds than a second has")
    return f"{rfc3339(signed(parts.get(1, 0))).removesuffix('Z')}.{micros:06d}Z"


def _quantity(data: bytes, budget: Budget) -> str:
    return text(dict(fields(data, budget)).get(1, b"")) or "0"


def _int_or_string(data: bytes, budget: Budget) -> int | str:
    parts = dict(fields(data, budget))
    return text(parts.get(3, b"")) if parts.get(1, 0) else signed(parts.get(2, 0))


def _raw(data: bytes, budget: Budget) -> msgspec.Raw | None:
    raw = dict(fields(data, budget)).get(1, b"")
    if not raw:
        return None
    if not isinstance(raw, bytes):
        raise TypeError
    # what is no JSON must not get into the document
    text(raw)
    _check_json(raw)
    return msgspec.Raw(raw)


def _strings(data: bytes, budget: Budget) -> list[str]:
    return [text(value) for number, value in fields(data, budget) if number == 1]


READ: Final[dict[str, Callable[[bytes, Budget], Any]]] = {
    "ExtraValue": _strings,
    "FieldsV1": _raw,
    "IntOrString": _int_or_string,
    "MicroTime": _micro_time,
    "Quantity": _quantity,
    "RawExtension": _raw,
    "Time": _time,
}
"""By message: its JSON; None is left out. They raise what `reading.message` turns into Malformed."""


# -- to protobuf -------------------------------------------------------------------------------------------------------
def _set_quantity(message: Any, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    message.string = str(value)


def _set_time(message: Any, value: Any) -> None:
    """A time in whole seconds, as in the API."""
    message.seconds = int(datetime.fromisoformat(value).timestamp() // 1)
    message.nanos = 0


def _set_micro_time(message: Any, value: Any) -> None:
    moment = datetime.fromisoformat(value)
    message.seconds = int(moment.replace(microsecond=0).timestamp())
    message.nanos = moment.microsecond * 1000


def _set_int_or_string(message: Any, value: object) -> None:
    message.type = int(isinstance(value, str))
    message.intVal, message.strVal = (0, value) if message.type else (value, "")


def _set_fields(message: Any, value: object) -> None:
    message.Raw = msgspec.json.encode(value)


def _set_extension(message: Any, value: object) -> None:
    message.raw = msgspec.json.encode(value)


def _set_strings(message: Any, value: object) -> None:
    if not isinstance(value, list):
        raise TypeError
    message.items.extend(value)


WRITE: Final[dict[str, Callable[[Any, Any], None]]] = {
    "ExtraValue": _set_strings,
    "FieldsV1": _set_fields,
    "IntOrString": _set_int_or_string,
    "MicroTime": _set_micro_time,
    "Quantity": _set_quantity,
    "RawExtension": _set_extension,
    "Time": _set_time,
}
"""By message: sets it to the value. They raise TypeError, ValueError, OverflowError for a value that does not fit."""
