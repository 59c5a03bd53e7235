"""What a field may hold, and what the server makes of it: the decoder and encoder of Go's JSON for some of the types.

A type is a function of a value and its path; it gives the value as the server would keep it, or raises Mismatch. In a
`struct` a name that ends with `?` is left out when it is empty (Go's omitempty); null is as good as missing everywhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .quantities import canonical

Type = Callable[[Any, str], Any]
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


class Mismatch(Exception):
    """The value is of another type."""


_unknown: ContextVar[list[str]] = ContextVar("unknown")


@contextmanager
def unknown_fields() -> Iterator[list[str]]:
    """Paths of the fields that are read meanwhile and that there are not."""
    found = list[str]()
    token = _unknown.set(found)
    try:
        yield found
    finally:
        _unknown.reset(token)


def text(value: Any, path: str) -> str:
    return _instance(value, str, path)  # type: ignore[no-any-return]


def number(value: Any, path: str) -> int:
    return _instance(value, int, path)  # type: ignore[no-any-return]


def flag(value: Any, path: str) -> bool:
    return _instance(value, bool, path)  # type: ignore[no-any-return]


def anything(value: Any, path: str) -> Any:
    return value


def _instance(value: Any, kind: type, path: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Mismatch(f"cannot unmarshal {value!r} into {path} of type {kind.__name__}")
    return value


def time(value: Any, path: str) -> str:
    """metav1.Time: kept to the second."""
    found = _TIME.fullmatch(text(value, path))
    if found is None:
        raise Mismatch(f"parsing time {value!r} of {path}: it is not RFC 3339")
    return str(value).replace(found[1] or "", "") if found[1] else str(value)


def micro_time(value: Any, path: str) -> str:
    """metav1.MicroTime: six digits, no more and no less."""
    if _MICRO.fullmatch(text(value, path)) is None:
        raise Mismatch(f"parsing time {value!r} of {path}: it has not six digits after the second")
    return str(value)


def quantity(value: Any, path: str) -> str:
    try:
        return canonical(value)
    except ValueError as error:
        raise Mismatch(f"{path}: {error}") from None


def data(value: Any, path: str) -> str:
    """Bytes."""
    try:
        base64.b64decode(text(value, path), validate=True)
    except binascii.Error as error:
        raise Mismatch(f"{path}: illegal base64 data: {error}") from None
    return str(value)


def each(item: Type) -> Type:
    def read(value: Any, path: str) -> list[Any]:
        return [item(one, f"{path}[{place}]") for place, one in enumerate(_instance(value, list, path))]

    return read


def mapping(item: Type) -> Type:
    def read(value: Any, path: str) -> dict[str, Any]:
        return {key: item(one, f"{path}[{key}]") for key, one in _instance(value, dict, path).items()}

    return read


def struct(fields: dict[str, Type], *, others: bool = False) -> Type:
    """`others`: there are more fields than are listed, which are kept as they are."""
    known = {name.rstrip("?"): kind for name, kind in fields.items()}
    omitted = {name.rstrip("?") for name in fields if name.endswith("?")}

    def read(value: Any, path: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, one in _instance(value, dict, path).items():
            if name not in known and not others:
                _unknown.get().append(f"{path}.{name}")
                continue
            if one is None:
                continue
            found = known.get(name, anything)(one, f"{path}.{name}")
            if name not in omitted or found not in ("", 0, [], {}):
                made[name] = found
        return made

    return read
