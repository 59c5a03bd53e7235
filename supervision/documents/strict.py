"""Checks plain data against msgspec types and reports every unknown field and every wrong type, not only the first.

msgspec stops at the first error. Null counts as not given. Invalid values are omitted from the result, so that other
rules can still be checked.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from .model import below
from .suggestions import did_you_mean

BAD: Final = object()
"""Replaces an invalid or missing value."""
Wrong = Callable[[str, Any, str], None]
"""Called with path, value (BAD: none) and rule of every error."""
Leaf = Callable[[str, Any], Any]
"""Reads the value of a special type at a path. Raises ValueError with the broken rule."""

_NAMES: Final = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


class Schema(msgspec.Struct, frozen=True):
    """Additional rules for reading the types."""

    leaves: Mapping[type, Leaf] = {}
    """Readers of types that are written as plain values."""
    bits: Callable[[str, tuple[Any, ...]], int] = lambda path, members: 63
    """The bits of a whole number at a path: it must be below two to that power."""
    make: Callable[[type[Any], dict[str, Any]], Any] = lambda kind, fields: fields
    """Makes an object from its valid fields."""


@lru_cache(maxsize=256)
def fields_of(kind: type[msgspec.Struct]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types by field name, and the names of the required fields."""
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    return {field.name: hints[field.name] for field in fields}, tuple(one.name for one in fields if one.required)


class Checker:
    """A check of a document."""

    def __init__(self, schema: Schema, wrong: Wrong, unknown: Callable[[str, str], None] | None = None) -> None:
        """`unknown` is called with the path and rule of an unknown field; default: `wrong`."""
        self._schema, self._wrong = schema, wrong
        self._unknown = unknown or (lambda path, rule: wrong(path, BAD, rule))

    def check(self, kind: Any, value: Any, path: str = "") -> Any:
        """The value as `kind`: a Struct class, list, dict, plain type or a union of those."""
        if kind is msgspec.Raw or kind is Any:
            return value
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            members = tuple(member for member in arguments if member is not type(None))
            return (
                self.check(members[0], value, path) if len(members) == 1 else self._check_scalar(members, value, path)
            )
        if kind in self._schema.leaves:
            return self._check_leaf(kind, value, path)
        if origin is list:
            return self._check_list(arguments[0], value, path)
        if origin is dict:
            return self._check_dict(arguments[1], value, path)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._check_struct(kind, value, path)
        return self._check_scalar((kind,), value, path)

    def _check_struct(self, kind: type[msgspec.Struct], value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            self._wrong(path, value, "must be an object")
            return BAD
        fields, required = fields_of(kind)
        for name in required:
            if value.get(name) is None:
                self._wrong(below(path, name), BAD, "required")
        found: dict[str, Any] = {}
        for name, item in value.items():
            where = below(path, name)
            if name not in fields:
                self._unknown(where, f"unknown field{did_you_mean(name, fields)}")
            elif item is None:
                if type(None) in get_args(fields[name]):
                    found[name] = None
            elif (made := self.check(fields[name], item, where)) is not BAD:
                found[name] = made
        return self._schema.make(kind, found)

    def _check_list(self, kind: Any, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            self._wrong(path, value, "must be a list")
            return BAD
        made = [self._check_item(kind, item, f"{path}[{index}]") for index, item in enumerate(value)]
        return [item for item in made if item is not BAD]

    def _check_dict(self, kind: Any, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            self._wrong(path, value, "must be an object")
            return BAD
        made = {key: self._check_item(kind, item, below(path, key)) for key, item in value.items()}
        return {key: item for key, item in made.items() if item is not BAD}

    def _check_item(self, kind: Any, item: Any, path: str) -> Any:
        if item is None:
            self._wrong(path, BAD, "must not be null")
            return BAD
        return self.check(kind, item, path)

    def _check_leaf(self, kind: type, value: Any, path: str) -> Any:
        try:
            return self._schema.leaves[kind](path, value)
        except ValueError as error:
            self._wrong(path, value, str(error))
            return BAD

    def _check_scalar(self, members: tuple[Any, ...], value: Any, path: str) -> Any:
        if type(value) not in members and not (float in members and type(value) is int):
            self._wrong(path, value, f"must be {' or '.join(_NAMES.get(member, str(member)) for member in members)}")
            return BAD
        if type(value) is int and int not in members and abs(value) < 1 << 53:
            return float(value)
        if type(value) is int:
            bits = self._schema.bits(path, members)
            if not -(1 << bits) <= value < 1 << bits:
                self._wrong(path, value, f"must fit in {bits + 1} bits")
                return BAD
        return value


def described(value: Any) -> str:
    """A value for an error message: its kind, and its text if it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value!r:.40}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"
