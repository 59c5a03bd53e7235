"""Checks that plain data has the shape of an API type; the types of `actors.shared.kube` are the schema."""

from __future__ import annotations

from itertools import count
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from supervision.documents.strict import BAD, Checker, Schema, described, fields_of

from .errors import MAX_TEXT, FieldError

_SCHEMA: Final = Schema()


def check_shape(value: Any, kind: Any) -> tuple[list[FieldError], Any]:
    """Every unknown field and wrong type, and the rest of the data, with which other rules can be checked: without
    those fields, and with a value of its own for each required field that is missing. Raw fields are known by name
    only.
    """
    errors: list[FieldError] = []

    def wrong(where: str, item: Any, rule: str) -> None:
        errors.append(FieldError(where, rule if item is BAD else f"{rule}, not {described(item)}"))

    checked = Checker(_SCHEMA, wrong).check(kind, value)
    if not errors:
        return [], value
    numbers = count(1)

    def complete(struct: type[msgspec.Struct], fields: dict[str, Any]) -> dict[str, Any]:
        types, required = fields_of(struct)
        return {**{name: _filler(types[name], next(numbers)) for name in required if name not in fields}, **fields}

    checked = Checker(Schema(make=complete), lambda *_: None).check(kind, value)
    return errors, checked


def _filler(kind: Any, number: int) -> Any:
    """A value for a missing field that differs from the values of other fields."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if int in kinds:
        return number
    if str in kinds:
        return f"missing-{number}"
    return [] if get_origin(kind) is list else {}


def unrelated(errors: list[FieldError], found: list[FieldError]) -> list[FieldError]:
    """The `errors` that cannot be consequences of `found`: they concern other fields, and none around them."""
    paths = {error.path for error in found}
    explained = {place for path in paths for place in _with_enclosing(path)}
    return [error for error in errors if error.path not in explained and paths.isdisjoint(_with_enclosing(error.path))]


def _with_enclosing(path: str) -> list[str]:
    """The field, and its enclosing fields: `a.b[0]`, `a.b`, `a` and the document, ''. A name may be megabytes long."""
    ends = (at for at, letter in enumerate(path[:MAX_TEXT]) if letter in ".[")
    return [path, *(path[:end] for end in ends), ""]
