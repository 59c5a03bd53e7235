"""The fields that `supervise config show [FIELD ...]` shows, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from supervision.cli.text import terminal_columns, wrapped
from supervision.documents.model import below

from .errors import MASKED, ConfigErrors, ConfigProblem, shown
from .sources.effective import lookup
from .sources.merge_patch import merge_patch

Row = tuple[str, Any, str]
"""Path, value, source."""


def chosen(fields: Sequence[str], every: Sequence[Row], sources: Mapping[str, str]) -> Sequence[Row]:
    """The rows of these fields, of the fields in them, or of one key of a map; all of them without `fields`.

    Raises ConfigErrors for names that are no fields.
    """
    found = {name: list(_rows_of(_dotted(name), every, sources)) for name in fields}
    if unknown := [name for name, rows in found.items() if not rows]:
        raise ConfigErrors([ConfigProblem(name, "", f"no such field{_meant(name)}") for name in unknown])
    return [row for rows in found.values() for row in rows] if fields else every


def _meant(name: str) -> str:
    from .documentation import similar
    from .feature_gates import GATES

    if name in GATES:
        return f" but a feature gate: `supervise config explain {name}`"
    return similar(name) or "; `supervise config show` lists the fields"


def _dotted(name: str) -> str:
    """`evictionHard.memory.available` for `evictionHard[memory.available]`, as errors write it."""
    return name.replace("[", ".").removesuffix("]")


def _rows_of(name: str, every: Sequence[Row], sources: Mapping[str, str]) -> Iterator[Row]:
    for path, value, source in every:
        if path == name or path.startswith(f"{name}."):
            yield path, value, source
        elif isinstance(value, dict) and name.startswith(f"{path}.") and (key := name[len(path) + 1 :]) in value:
            yield name, value[key], lookup(sources, below(path, key))


def chosen_plain(
    fields: Sequence[str], plain: Mapping[str, Any], rows: Sequence[Row], sources: Mapping[str, str]
) -> dict[str, Any]:
    """The parts of the plain configuration with these fields, with the sources in their rows; all without `fields`."""
    if not fields:
        return {"kubeletconfig": plain, "sources": sources}
    part: dict[str, Any] = {}
    for name in fields:
        part = merge_patch(part, _part_of(plain, _dotted(name)))
    return {"kubeletconfig": part, "sources": {path: source for path, _, source in rows}}


def _part_of(plain: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The objects down to that path. A key of a map may have dots in it."""
    if path in plain:
        return {path: plain[path]}
    head, _, rest = path.partition(".")
    inner = plain.get(head)
    return {head: _part_of(inner, rest)} if rest and isinstance(inner, Mapping) else {}


def print_rows(rows: Iterable[tuple[str, Any, str]], out: TextIO) -> None:
    """A line for each field: path, value, source. What a terminal has no room for is below the path."""
    columns = terminal_columns(out)
    for path, value, source in rows:
        text = shown_value(path, value)
        line = f"{path:<55} {text:<40} {source}"
        below = [path, *wrapped(f"{text}  {source}", columns, "    ")]
        out.write("\n".join(below if columns and len(line) > columns else [line]) + "\n")


def shown_value(path: str, value: Any) -> str:
    """The value as short JSON, hidden if it is a secret."""
    return MASKED if path.partition(".")[0] == "staticPodURLHeader" and value else shown(value)


def masked(plain: dict[str, Any]) -> dict[str, Any]:
    """Plain data of a configuration without its secrets."""
    return {**plain, "staticPodURLHeader": MASKED} if "staticPodURLHeader" in plain else plain


def flat(value: msgspec.Struct, prefix: str = "") -> list[tuple[str, Any]]:
    """Path and value of every field, also of the structs in it."""
    found: list[tuple[str, Any]] = []
    for name in value.__struct_fields__:
        item = getattr(value, name)
        found += flat(item, f"{prefix}{name}.") if isinstance(item, msgspec.Struct) else [(f"{prefix}{name}", item)]
    return found
