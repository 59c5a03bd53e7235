"""Reading and writing API objects as JSON.

A pod travels between actors as its original JSON, so that unmodelled fields are not lost, and is decoded where it is
used. Decoding tolerates unknown fields and the nulls that Go writes for empty lists.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from supervision.errors import UNREADABLE

from .meta import Api
from .pod import Pod

T = TypeVar("T", bound=Api)


class ObjectError(ValueError):
    """The bytes are not such an object; the text names the field."""


@lru_cache(maxsize=64)
def _decoder(kind: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(data: bytes, kind: type[T]) -> T:
    """The object in `data`. Raises ObjectError."""
    try:
        return cast(T, _decoder(kind).decode(data))
    except msgspec.ValidationError:
        pass
    except UNREADABLE as error:
        raise ObjectError(f"not JSON: {error}") from None
    try:
        # through JSON again: raw fields cannot be made from plain data
        return cast(T, _decoder(kind).decode(encode(without_nulls(msgspec.json.decode(data)))))
    except UNREADABLE as error:
        raise ObjectError(str(error)) from None


def plain(data: bytes, shape: type[Any]) -> dict[str, Any]:
    """The object in `data` as plain data without nulls, to be written back. The fields of `shape` (a Struct) have their
    types if they are present; other fields are kept. Raises ObjectError."""
    try:
        found = without_nulls(msgspec.json.decode(data))
        msgspec.convert(found, shape)
    except UNREADABLE as error:
        raise ObjectError(str(error)) from None
    return cast(dict[str, Any], found)


def decode_pod(data: bytes) -> Pod:
    """The pod in `data`. Raises ObjectError."""
    return decode(data, Pod)


def prepare() -> None:
    """Make the largest decoder (18 ms) before the first fork, so that processes share it."""
    _decoder(Pod)


def encode(thing: Any) -> bytes:
    """JSON of an API object, dict or list."""
    return msgspec.json.encode(thing)


def without_nulls(value: Any) -> Any:
    """The plain data without nulls in mappings: the API treats null as not given."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
