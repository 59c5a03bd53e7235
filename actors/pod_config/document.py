"""One bounded document, YAML or JSON, as plain data: what is in a manifest file before it is known to be a pod.

YAML is read from parser events with an own stack, so that neither depth nor aliases can cost more than the limits here.
Plain scalars follow YAML 1.1 as the API machinery reads it: no dates, no base-60 numbers.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from supervision.errors import UNREADABLE

from .errors import ManifestError, whole

MAX_BYTES = 10 << 20
MAX_DEPTH = 64
"""Levels of nesting; a pod needs about 12."""
MAX_NODES = 2_000_000
"""Values after aliases are expanded: stops a document that grows exponentially."""

_BOOLS = {
    word: value
    for value, words in ((True, "true yes on"), (False, "false no off"))
    for base in words.split()
    for word in (base, base.capitalize(), base.upper())
}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INT = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0[0-7_]+|0|[1-9][0-9_]*)\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z", re.ASCII)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TAG = "tag:yaml.org,2002:"
_BASES = {"0b": 2, "0x": 16, "0o": 8}


def read_document(data: bytes) -> Any:
    """Plain data: dict, list, str, int, float, bool, None. Raises ManifestError."""
    if len(data) > MAX_BYTES:
        raise whole(f"larger than {MAX_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise whole(f"not UTF-8 text: byte {error.start}") from None
    if not text.strip():
        raise whole("empty")
    return _read_json(text) if text.lstrip().startswith("{") else _read_yaml(text)


# -- JSON -------------------------------------------------------------------------------------------------------------
def _read_json(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        # YAML in flow style begins with a brace as well
        return _read_yaml(text, f"not JSON: line {error.lineno}: {error.msg}")
    except ManifestError:
        raise
    except UNREADABLE as error:
        raise whole(f"not JSON: {error}") from None
    _check_depth(value)
    if _SURROGATE.search(text):
        _check_text(value)
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise whole(f"key {twice!r} is given twice")
    return found


def _check_text(value: Any) -> None:
    """Half of a surrogate pair alone is no text: nobody could encode it again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise whole("not JSON: half of a surrogate pair in a string") from None


def _no_constant(name: str) -> Any:
    raise whole(f"not JSON: {name}")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for each in level if isinstance(each, dict | list) for item in _children(each)]
        if not level:
            return
    raise whole(f"nested deeper than {MAX_DEPTH} levels")


def _children(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


# -- YAML -------------------------------------------------------------------------------------------------------------
def _read_yaml(text: str, otherwise: str = "") -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise whole(otherwise or f"not YAML: {line}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, ManifestError):
            raise
        raise whole(otherwise or f"not YAML: {' '.join(str(error).split())}") from None
    return builder.result()


class _Frame:
    """A mapping or sequence that is being read."""

    __slots__ = ("anchor", "is_merge", "key", "merged", "nodes", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, nodes: int) -> None:
        self.value, self.anchor, self.nodes = value, anchor, nodes
        self.key: str | None = None
        self.is_merge = False
        """Whether the key is `<<` written plainly; in quotes it is a key as any other."""
        self.merged: list[Any] = []
        """What that key refers to: one value, or none."""


class _Builder:
    """Builds plain data from YAML events, within the limits."""

    def __init__(self) -> None:
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._nodes = 0
        self._documents = 0
        self._value: Any = None

    def take(self, kind: str, event: Any) -> None:
        """One event, by its class name."""
        if kind == "ScalarEvent":
            self._scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._open({} if kind[0] == "M" else [], event)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._close()
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind == "DocumentStartEvent":
            self._documents += 1
            if self._documents > 1:
                raise _at(event, "more than one document")

    def result(self) -> Any:
        if not self._documents:
            raise whole("empty")
        return self._value

    def _count(self, event: Any, nodes: int = 1) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _at(event, f"more than {MAX_NODES} values: aliases that multiply")

    def _open(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        self._count(event)
        if len(self._stack) >= MAX_DEPTH:
            raise _at(event, f"nested deeper than {MAX_DEPTH} levels")
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None:
            raise _at(event, "a key must be a plain string")
        _known_tag(event, "map" if isinstance(value, dict) else "seq")
        self._stack.append(_Frame(value, event.anchor, self._nodes))

    def _close(self) -> None:
        frame = self._stack.pop()
        if isinstance(frame.value, dict) and frame.merged:
            frame.value = _merged(frame.merged[0], frame.value)
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, self._nodes - frame.nodes + 1, _depth(frame.value))
        self._place(frame.value)

    def _scalar(self, event: Any) -> None:
        self._count(event)
        if self._expects_key():
            self._key(event)
            return
        value = _scalar_value(event)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1, 0)
        self._place(value)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors or self._expects_key():
            raise _at(event, f"alias *{event.anchor} cannot be used here")
        value, nodes, depth = self._anchors[event.anchor]
        self._count(event, nodes)
        if len(self._stack) + depth > MAX_DEPTH:
            raise _at(event, f"nested deeper than {MAX_DEPTH} levels")
        self._place(value)

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _key(self, event: Any) -> None:
        frame = self._stack[-1]
        frame.is_merge = bool(event.value == "<<" and event.implicit[0])
        if frame.merged if frame.is_merge else event.value in frame.value:
            raise _at(event, f"key {event.value!r} is given twice")
        frame.key = event.value

    def _place(self, value: Any) -> None:
        if not self._stack:
            self._value = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is not None:
            if frame.is_merge:
                frame.merged.append(value)
            else:
                frame.value[frame.key] = value
            frame.key = None


def _at(event: Any, text: str) -> ManifestError:
    return whole(f"line {event.start_mark.line + 1}: {text}")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [item for each in level if isinstance(each, dict | list) for item in _children(each)]:
        depth += 1
        if depth > MAX_DEPTH:
            break
    return depth


def _merged(sources: Any, value: dict[str, Any]) -> dict[str, Any]:
    """The mapping with what `<<` refers to; its own keys win, then earlier ones of the list."""
    merged: dict[str, Any] = {}
    for source in reversed(sources if isinstance(sources, list) else [sources]):
        if not isinstance(source, dict):
            raise whole("'<<' needs a mapping, or a list of mappings")
        merged.update(source)
    return {**merged, **value}


def _known_tag(event: Any, *names: str) -> str:
    """The short name of the tag, empty for none. Raises ManifestError for a tag that is not plain data."""
    if event.tag in (None, "!"):
        return ""
    name = str(event.tag).removeprefix(_TAG)
    if name not in names:
        raise _at(event, f"tag {event.tag!r} is not allowed")
    return name


def _scalar_value(event: Any) -> Any:
    tag = _known_tag(event, "str", "int", "float", "bool", "null")
    text: str = event.value
    if tag == "str" or (not tag and (event.style or event.tag == "!")):
        return text
    value = plain_scalar(text)
    if tag and not isinstance(value, _KINDS[tag]):
        raise _at(event, f"{text[:40]!r} is not a {tag}")
    return value


_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)
}  # fmt: skip


def plain_scalar(text: str) -> Any:
    """What an unquoted YAML scalar means."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if len(text) > 64:
        return text
    if _INT.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def _integer(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").replace("_", "")
    base = _BASES.get(digits[:2], 8 if len(digits) > 1 and digits[0] == "0" else 10)
    return sign * int(digits[2:] if digits[:2] in _BASES else digits, base)
