"""Checks that plain data has the shape of an API type; the types of `actors.shared.kube` are the schema."""

from __future__ import annotations

from typing import Any, Final

from supervision.strict import BAD, Checker, Schema, described

from .errors import FieldError

_SCHEMA: Final = Schema()


def shape_errors(value: Any, kind: Any, path: str = "") -> list[FieldError]:
    """Every unknown field and wrong type. Raw fields are known by name only."""
    errors: list[FieldError] = []

    def wrong(where: str, item: Any, rule: str) -> None:
        errors.append(FieldError(where, rule if item is BAD else f"{rule}, not {described(item)}"))

    Checker(_SCHEMA, wrong).check(kind, value, path)
    return errors
