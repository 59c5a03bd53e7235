"""What `config explain` says of one field, flag or feature gate: as fields, and as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from .errors import shown


class ConfigExplanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is empty or false has nothing to be said of, and is left out of the documents for programs."""

    kind: Literal["field", "flag", "feature gate"]
    name: str
    """A path such as `registerWithTaints[].key`, `--max-pods`, or the gate's name."""
    type: str = ""
    text: str = ""
    default: Any = msgspec.UNSET
    """As plain data; None: unset; UNSET: it has none of its own."""
    flag: str = ""
    """The flag that sets the field."""
    sets: ConfigExplanation | None = None
    """The field that the flag sets."""
    stage: str = ""
    """ALPHA, BETA, GA or DEPRECATED; only a gate has one."""
    locked: bool = False
    deprecated: bool = False
    removed: str = ""
    """Why the flag is gone, and what took its place."""
    rules: tuple[str, ...] = ()
    change: str = ""
    """What a change does to a running agent."""
    keys: tuple[str, ...] = ()
    """The keys of the map, if they are fixed."""
    fields: tuple[str, ...] = ()
    """The paths of the fields below it."""


def as_text(of: ConfigExplanation) -> str:
    """The lines for a person."""
    return "\n".join([_head(of), *_body(of)])


def shown_default(value: object) -> str:
    """A default in one line of text; '' for that of an object."""
    if value is msgspec.UNSET:
        return ""
    return "unset" if value is None else shown(value)


def _head(of: ConfigExplanation) -> str:
    if of.removed:
        return f"{of.name}: removed. {of.removed}"
    if of.sets is not None:
        return f"{of.name} sets a field:\n{as_text(of.sets)}"
    if of.kind == "feature gate":
        return f"{of.name}: feature gate, {of.stage}, {'on' if of.default else 'off'} by default" + (
            ", locked" if of.locked else ""
        )
    return f"{of.name}: {of.type}"


def _body(of: ConfigExplanation) -> Iterator[str]:
    if of.text:
        yield f"  {of.text}"
    if of.deprecated and of.sets is None:
        yield "  deprecated"
    if of.default is not msgspec.UNSET and of.kind != "feature gate":
        yield f"  default: {of.default if of.kind == 'flag' else shown_default(of.default)}"
    if of.flag:
        yield f"  flag:    {of.flag}"
    yield from (f"  rule:    {rule}" for rule in of.rules)
    if of.change:
        yield f"  change:  {of.change}"
    if of.keys:
        yield f"  keys:    {', '.join(of.keys)}"
    yield from (f"  has:     {path}" for path in of.fields)
