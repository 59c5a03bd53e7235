"""Does plain data have the shape of an API type? Every unknown field and wrong type is reported, not only the first.

The types of `actors.shared.kube` are the schema. Raw fields are known by name only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import NoneType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from .errors import FieldError

_MAX_INT = 1 << 63
_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false", dict: "a mapping"}


def shape_errors(value: Any, kind: Any, path: str = "") -> Iterator[FieldError]:
    """What is wrong with `value` as a `kind`: a Struct class, list, dict, plain type or union of those."""
    if kind is msgspec.Raw or kind is Any:
        return
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _object(value, kind, path)
    elif origin is list:
        yield from _list(value, arguments[0], path)
    elif origin is dict:
        yield from _mapping(value, arguments[1], path)
    else:
        yield from _plain(value, _members(kind), path)


def _object(value: Any, kind: type[msgspec.Struct], path: str) -> Iterator[FieldError]:
    if not isinstance(value, dict):
        yield FieldError(path, f"must be a mapping, not {described(value)}")
        return
    fields, required = _fields(kind)
    for name in required:
        if value.get(name) is None:
            yield FieldError(joined(path, name), "required")
    for name, item in value.items():
        where = joined(path, name)
        if name not in fields:
            yield FieldError(where, f"unknown field{_hint(name, fields)}")
        elif item is not None:
            yield from shape_errors(item, fields[name], where)


def _list(value: Any, kind: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, list):
        yield FieldError(path, f"must be a list, not {described(value)}")
        return
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if item is None:
            yield FieldError(where, "must not be null")
        else:
            yield from shape_errors(item, kind, where)


def _mapping(value: Any, kind: Any, path: str) -> Iterator[FieldError]:
    if not isinstance(value, dict):
        yield FieldError(path, f"must be a mapping, not {described(value)}")
        return
    for key, item in value.items():
        where = f"{path}[{key}]"
        if item is None:
            yield FieldError(where, "must not be null")
        else:
            yield from shape_errors(item, kind, where)


def _plain(value: Any, members: tuple[Any, ...], path: str) -> Iterator[FieldError]:
    if len(members) == 1 and members[0] not in _NAMES:
        yield from shape_errors(value, members[0], path)
    elif type(value) is int and not -_MAX_INT <= value < _MAX_INT:
        yield FieldError(path, "number out of range")
    elif not any(type(value) is member or (member is float and type(value) is int) for member in members):
        wanted = " or ".join(_NAMES.get(member, str(member)) for member in members)
        yield FieldError(path, f"must be {wanted}, not {described(value)}")


@lru_cache(maxsize=256)
def _fields(kind: type[msgspec.Struct]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Types by field name, and the names of those without default."""
    hints = get_type_hints(kind)
    fields = {field.name: hints[field.name] for field in msgspec.structs.fields(kind)}
    return fields, tuple(field.name for field in msgspec.structs.fields(kind) if field.required)


def _members(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union without None; a plain type alone."""
    if get_origin(kind) is Union or type(kind).__name__ == "UnionType":
        return tuple(member for member in get_args(kind) if member is not NoneType)
    return (kind,)


def _hint(name: str, fields: dict[str, Any]) -> str:
    """Most unknown fields are known ones in other letters."""
    near = next((field for field in fields if field.lower() == name.lower().replace("_", "").replace("-", "")), "")
    return f" (did you mean {near}?)" if near else ""


def described(value: Any) -> str:
    """A value in an error: its kind, and short ones themselves."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value!r:.40}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "a list" if isinstance(value, list) else "a mapping"


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
