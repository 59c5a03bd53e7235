"""Strict decoding of plain data into the configuration types: every problem at once, each with its field path.

msgspec stops at the first thing that is wrong; a person who edits a file wants all of them. A field that cannot be read
keeps its default, so that the rules can still judge the others.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from actors.shared.config.errors import Problem, shown_at
from actors.shared.config.fields.duration import Duration, DurationError

from .merge import below

S = TypeVar("S", bound=msgspec.Struct)

Fail = Callable[[str, Any, str], None]
"""Takes path, offending value, rule."""
Unknown = Callable[[str, str], None]
"""Takes the path of an unknown field, rule."""

_INT64: Final = frozenset({"maxOpenFiles", "podPidsLimit", "idsPerPod", "shutdownGracePeriodSeconds"})
_NANOSECONDS: Final = frozenset({"logging.flushFrequency"})
"""Durations that may also be an integer."""
_BAD: Final = object()
_NAMES: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}

_IGNORED: Final = {"logging.sanitization": "log sanitization was removed in 1.24"}
"""Fields of older versions that are passed over with a warning: what became of them."""


def decode(
    kind: type[S],
    data: Any,
    source_of: Callable[[str], str],
    problems: list[Problem],
    warnings: list[str],
    *,
    lenient: bool = False,
) -> S:
    """An object of the type. What is wrong is added to `problems`. `lenient`: an unknown field is a warning."""

    def fail(path: str, value: Any, rule: str) -> None:
        problems.append(Problem(path, "" if value is _BAD else shown_at(path, value), rule, source_of(path)))

    def unknown(path: str, rule: str) -> None:
        if path in _IGNORED:
            warnings.append(f"{path} is ignored: {_IGNORED[path]}")
        elif lenient:
            warnings.append(f"{path} is ignored: {rule} ({source_of(path)})")
        else:
            fail(path, _BAD, rule)

    return _struct(kind, data, "", fail, unknown)


@lru_cache
def fields_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Field name to type."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind.__struct_fields__}


def _struct(kind: type[S], data: Any, path: str, fail: Fail, unknown: Unknown) -> S:
    if not isinstance(data, dict):
        fail(path, data, "must be an object")
        return kind()
    fields = fields_of(kind)
    found: dict[str, Any] = {}
    for name, value in data.items():
        place = below(path, name)
        if name in fields:
            decoded = _value(fields[name], value, place, fail, unknown)
            if decoded is not _BAD:
                found[name] = decoded
        else:
            unknown(place, _unknown(name, fields))
    return kind(**found)


def _unknown(name: str, fields: dict[str, Any]) -> str:
    import difflib

    close = difflib.get_close_matches(name, fields, 1)
    return f"unknown field, did you mean {close[0]}?" if close else "unknown field"


def _value(kind: Any, value: Any, path: str, fail: Fail, unknown: Unknown) -> Any:
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        options = [option for option in get_args(kind) if option is not type(None)]
        if value is None and len(options) < len(get_args(kind)):
            return None
        if len(options) == 1:
            return _value(options[0], value, path, fail, unknown)
        return _plain(options, value, path, fail)
    if origin is list:
        return _list(get_args(kind)[0], value, path, fail, unknown)
    if origin is dict:
        return _dict(get_args(kind)[1], value, path, fail, unknown)
    if kind is Duration:
        return _duration(value, path, fail)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind, value, path, fail, unknown)
    return _plain([kind], value, path, fail)


def _list(item: Any, value: Any, path: str, fail: Fail, unknown: Unknown) -> Any:
    if not isinstance(value, list):
        fail(path, value, "must be a list")
        return _BAD
    read = [_value(item, part, f"{path}[{index}]", fail, unknown) for index, part in enumerate(value)]
    return [part for part in read if part is not _BAD]


def _dict(item: Any, value: Any, path: str, fail: Fail, unknown: Unknown) -> Any:
    if not isinstance(value, dict):
        fail(path, value, "must be an object")
        return _BAD
    read = {key: _value(item, part, below(path, key), fail, unknown) for key, part in value.items()}
    return {key: part for key, part in read.items() if part is not _BAD}


def _duration(value: Any, path: str, fail: Fail) -> Any:
    if type(value) is int and path in _NANOSECONDS and abs(value) < 1 << 63:
        return Duration.of_nanoseconds(value)
    if not isinstance(value, str):
        fail(path, value, "must be a duration in quotes, as 1m30s")
        return _BAD
    try:
        return Duration.parse(value)
    except DurationError as error:
        fail(path, value, str(error))
        return _BAD


def _plain(kinds: list[type], value: Any, path: str, fail: Fail) -> Any:
    if type(value) not in kinds and not (float in kinds and type(value) is int):
        fail(path, value, f"must be {' or '.join(_NAMES[kind] for kind in kinds)}")
        return _BAD
    if type(value) is int and float in kinds and abs(value) < 1 << 53:
        return float(value)
    if type(value) is int:
        bits = 63 if path.rpartition(".")[2] in _INT64 or str in kinds else 31
        if not -(1 << bits) <= value < 1 << bits:
            fail(path, value, f"must fit in {bits + 1} bits")
            return _BAD
    return value
