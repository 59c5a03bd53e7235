"""Reading a configuration document, YAML or JSON, from bytes that may be anything: bounded, safe, every problem named.

What comes out is plain JSON data (dict, list, str, int, float, bool, None) with the line of every path.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from actors.shared.config.errors import ConfigErrors, Problem
from supervision.errors import UNREADABLE

from .merge import below

if TYPE_CHECKING:
    import yaml

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 32
MAX_NODES: Final = 50_000
"""Values in a document, aliases counted each time they are used: what makes a billion laughs end."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = (f"{_TAG}map", f"{_TAG}seq")
_YAML_TRUE: Final = frozenset({"yes", "true", "on"})


class Document:
    """A document that was read."""

    def __init__(self, source: str, data: dict[str, Any], lines: dict[str, int]) -> None:
        self.source, self.data, self.lines = source, data, lines


def read(raw: bytes, source: str) -> Document:
    """Read one document whose top is an object. `source` is named in the problems. Raises ConfigErrors."""
    if len(raw) > MAX_BYTES:
        _refuse(source, f"must be at most {MAX_BYTES} bytes, not {len(raw)}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(source, f"must be UTF-8 (byte {error.start})")
    if text.lstrip().startswith("{"):
        found = _json(text, source)
        if found is not None:
            return found
    return _yaml(text, source)


def _refuse(source: str, rule: str, path: str = "") -> NoReturn:
    raise ConfigErrors([Problem(path, "", rule, source)])


# -- JSON -------------------------------------------------------------------------------------------------------------
def _json(text: str, source: str) -> Document | None:
    """None when it is not JSON, but might be YAML in flow style."""
    duplicates: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            duplicates.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return found

    try:
        data = json.loads(text, object_pairs_hook=members, parse_constant=_no_constant)
    except UNREADABLE:
        return None
    if duplicates:
        raise ConfigErrors([Problem(key, "", "given twice in one object", source) for key in sorted(set(duplicates))])
    _check_size(data, source)
    if _SURROGATE.search(text):
        _check_text(data, source)
    return Document(source, data, {})


def _check_text(data: Any, source: str) -> None:
    """Half of a surrogate pair alone is no text: nobody could write it down again."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        _refuse(source, "must hold no half of a surrogate pair")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_size(data: Any, source: str) -> None:
    level, count = [data], 0
    for depth in range(MAX_DEPTH + 2):
        if not level:
            return
        count += len(level)
        if depth > MAX_DEPTH or count > MAX_NODES:
            break
        inner: list[Any] = []
        for item in level:
            inner.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        level = inner
    _refuse(source, f"must be at most {MAX_DEPTH} levels deep and hold at most {MAX_NODES} values")


# -- YAML -------------------------------------------------------------------------------------------------------------
def _yaml(text: str, source: str) -> Document:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if too_deep(text, loader):
            _refuse(source, f"must be at most {MAX_DEPTH} levels deep")
        node = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{source}:{mark.line + 1}" if mark else source
        _refuse(where, f"must be one YAML or JSON document ({getattr(error, 'problem', None) or 'cannot be read'})")
    if node is None:
        return Document(source, {}, {})
    reader = _Reader(source)
    data = reader.value(node, "", 0)
    if not isinstance(data, dict):
        reader.problem(node, "", "must be an object")
    if reader.problems:
        raise ConfigErrors(reader.problems)
    return Document(source, data, reader.lines)


def too_deep(text: str | bytes, loader: Any) -> bool:
    """Looked at event by event: to compose what is nested a thousand times over ends the process. Raises as yaml."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > 2 * MAX_DEPTH:
            return True
    return False


class _Reader:
    """Turns composed YAML nodes into plain data within the bounds."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._nodes = 0

    def problem(self, node: yaml.Node, path: str, rule: str) -> None:
        self.problems.append(Problem(path, "", rule, f"{self.source}:{node.start_mark.line + 1}"))

    def value(self, node: yaml.Node, path: str, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ConfigErrors([Problem("", "", f"must hold at most {MAX_NODES} values", self.source)])
        if depth > MAX_DEPTH:
            self.problem(node, path, f"must be at most {MAX_DEPTH} levels deep")
            return None
        self.lines.setdefault(path, node.start_mark.line + 1)
        if _shape(node) != "scalar" and node.tag not in _PLAIN_TAGS:
            self.problem(node, path, f"must have no tag ({node.tag[:64]})")
            return None
        if _shape(node) == "mapping":
            return self._mapping(node, path, depth)
        if _shape(node) == "sequence":
            return [self.value(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.Node, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        base: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                base = {**self._merged(value_node, path, depth), **base}
                continue
            if _shape(key_node) != "scalar":
                self.problem(key_node, path, "keys must be text")
                continue
            key = str(key_node.value)
            place = below(path, key)
            if key in found:
                self.problem(key_node, place, "given twice in one object")
            found[key] = self.value(value_node, place, depth + 1)
        return {**base, **found}

    def _merged(self, node: yaml.Node, path: str, depth: int) -> dict[str, Any]:
        """What `<<` brings in: a mapping or a list of them, the earlier ones winning."""
        value = self.value(node, path, depth + 1)
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            self.problem(node, path, "<< must name an object or a list of objects")
            return {}
        return {key: item for part in reversed(parts) for key, item in part.items()}

    def _scalar(self, node: yaml.Node, path: str) -> Any:
        text, kind = str(node.value), node.tag.removeprefix(_TAG)
        if kind in {"str", "timestamp", "value"}:
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in _YAML_TRUE
        try:
            if kind == "int":
                return _yaml_int(text)
            if kind == "float":
                return _yaml_float(text)
        except ValueError:
            self.problem(node, path, "must be a number that JSON can hold")
            return None
        self.problem(node, path, f"must have no tag ({node.tag[:64]})")
        return None


def _shape(node: yaml.Node) -> str:
    return str(getattr(node, "id", ""))


def _yaml_int(text: str) -> int | str:
    digits = text.replace("_", "")
    if ":" in digits:
        return text  # YAML 1.1 reads 1:30 as sixty-based; no reader of this file means that
    if len(digits) > 80:
        raise ValueError("too long")
    sign, digits = (-1, digits[1:]) if digits[:1] == "-" else (1, digits.removeprefix("+"))
    if digits[:2] in {"0x", "0b"}:
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def _yaml_float(text: str) -> float | str:
    if ":" in text:
        return text
    number = float(text.replace("_", ""))
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number
