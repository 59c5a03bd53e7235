"""Makes texts UTF-8: names of files that are not have lone surrogates, which no message and no JSON can hold. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
UNREADABLE_CHARACTER: Final = "\ufffd"


def packed(value: Any) -> bytes:
    """The value as msgpack. Lone surrogates in its texts are replaced."""
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:  # the name of somebody's file
        return msgspec.msgpack.encode(readable(value))


def readable(value: Any) -> Any:
    """The same value with UNREADABLE_CHARACTER for each lone surrogate, in all its parts."""
    if isinstance(value, str):
        return _SURROGATES.sub(UNREADABLE_CHARACTER, value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **{name: readable(item) for name, item in fields.items()})
    if isinstance(value, dict):
        return {readable(key): readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(readable, value))
    if isinstance(value, set | frozenset):
        return {readable(item) for item in value}
    return value
