"""Collects the errors of validation with the paths of their fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from .errors import FieldError


class FieldCheck:
    """The path of a field, and the list of all errors; `at` returns the FieldCheck of a field below."""

    __slots__ = ("errors", "path")

    def __init__(self, path: str = "", errors: list[FieldError] | None = None) -> None:
        self.path = path
        self.errors: list[FieldError] = [] if errors is None else errors

    def at(self, field: str) -> FieldCheck:
        return FieldCheck(f"{self.path}.{field}" if self.path else field, self.errors)

    def item(self, index: int | str) -> FieldCheck:
        return FieldCheck(f"{self.path}[{index}]", self.errors)

    def fail(self, text: str) -> None:
        self.errors.append(FieldError(self.path, text))

    def form(self, form: Callable[[Any], str], value: Any) -> None:
        """The value must have the form: a check of `formats`."""
        if wrong := form(value):
            self.fail(wrong)

    def required(self, value: Any) -> bool:
        if not value:
            self.fail("required")
        return bool(value)

    def one_of(self, value: str | None, allowed: Collection[str]) -> None:
        """The value is one of `allowed`, or not given (None or empty)."""
        if value and value not in allowed:
            self.fail(f"{value[:60]!r} is not one of {', '.join(sorted(allowed))}")

    def between(self, number: int | None, low: int, high: int | None = None) -> None:
        if number is None or (number >= low and (high is None or number <= high)):
            return
        self.fail(f"{number} is not {f'at least {low}' if high is None else f'between {low} and {high}'}")

    def exactly_one(self, given: Iterable[str], what: str) -> None:
        names = list(given)
        if not names:
            self.fail(f"needs {what}")
        elif len(names) > 1:
            self.fail(f"has more than {what if what.startswith('one ') else f'one {what}'}: {', '.join(names)}")

    def unique(self, values: Iterable[Any], field: str = "name") -> None:
        """Each value in a list of objects is unique; empty values are ignored."""
        seen = set()
        for index, value in enumerate(values):
            if value and value in seen:
                self.item(index).at(field).fail(f"duplicate: {value!r}")
            seen.add(value)
