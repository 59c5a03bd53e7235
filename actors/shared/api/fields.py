"""Reads plain data and collects every problem with its field, instead of raising the first."""

from __future__ import annotations

from typing import Any


class Fields:
    """A mapping in a document, at `path`. Getters add problems to `problems` and return an empty value."""

    def __init__(self, data: Any, path: str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        if data is not None and not isinstance(data, dict):
            self._note("", f"must be a mapping, is {_kind(data)}")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    def problem(self, name: str, text: str) -> None:
        self._note(name, text)

    def has(self, name: str) -> bool:
        return self.data.get(name) not in (None, "", [], {})

    def text(self, name: str) -> str:
        return str(self._value_of_type(name, str, "text", ""))

    def flag(self, name: str) -> bool:
        return bool(self._value_of_type(name, bool, "true or false", False))

    def section(self, name: str) -> Fields:
        return Fields(self.data.get(name), self._path_of(name), self.problems)

    def sections(self, name: str) -> list[Fields]:
        """The mappings of a list."""
        values = self._value_of_type(name, list, "a list", [])
        return [Fields(value, f"{self._path_of(name)}[{index}]", self.problems) for index, value in enumerate(values)]

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._value_of_type(name, list, "a list", [])
        if not all(isinstance(value, str) for value in values):
            self._note(name, "must be a list of texts; numbers and true/false need quotes")
            return ()
        return tuple(values)

    def _value_of_type(self, name: str, kind: type, wanted: str, empty: Any) -> Any:
        value = self.data.get(name)
        if value is None:
            return empty
        if not isinstance(value, kind):
            self._note(name, f"must be {wanted}, is {_kind(value)}")
            return empty
        return value

    def _path_of(self, name: str) -> str:
        return f"{self.path}.{name}".strip(".")

    def _note(self, name: str, text: str) -> None:
        where = self._path_of(name)
        self.problems.append(f"{where}: {text}" if where else text)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
