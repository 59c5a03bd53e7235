"""Reads YAML from parser events with its own stack, so that neither depth nor aliases exceed the limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from .model import (
    MOST_PROBLEMS,
    DocumentError,
    DocumentLimits,
    DocumentProblem,
    below,
    children,
    refuse,
    refuse_too_deep,
    refuse_too_many,
)
from .scalars import KINDS, plain_scalar


def read_yaml(
    text: str, limits: DocumentLimits, otherwise: DocumentProblem | None = None
) -> tuple[Any, dict[str, int]]:
    """`otherwise`: the error to report if it is not YAML either."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(limits)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    except DocumentError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = DocumentProblem("", mark.line + 1 if mark else 0, f"is not YAML: {error.problem or error.context}")
        raise DocumentError([otherwise or problem]) from None
    except (yaml.YAMLError, ValueError) as error:
        problem = DocumentProblem("", 0, f"is not YAML: {' '.join(str(error).split())}")
        raise DocumentError([otherwise or problem]) from None
    if builder.problems:
        raise DocumentError(builder.problems)
    return builder.result, builder.lines


class _Frame:
    """A mapping or sequence that is being read."""

    __slots__ = ("anchor", "is_merge", "key", "merged", "nodes", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, nodes: int) -> None:
        self.value, self.anchor, self.nodes = value, anchor, nodes
        self.key: str | None = None
        self.is_merge = False
        """The key is an unquoted `<<`; a quoted one is an ordinary key."""
        self.merged: list[Any] = []
        """The value of that key, in a list; empty if there is none."""

    @property
    def expects_key(self) -> bool:
        return self.key is None and isinstance(self.value, dict)

    def next_in(self, path: str) -> str:
        """The path of the next value in a frame at `path`; before the next key, the path of the frame itself."""
        if isinstance(self.value, list):
            return f"{path}[{len(self.value)}]"
        return path if self.key is None else below(path, self.key)

    def put(self, value: Any) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            if self.is_merge:
                self.merged.append(value)
            else:
                self.value[self.key] = value
            self.key = None


class _Builder:
    """Builds plain data from YAML events, within the limits."""

    def __init__(self, limits: DocumentLimits) -> None:
        self.lines: dict[str, int] = {}
        self.problems: list[DocumentProblem] = []
        self.result: Any = None
        self._limits = limits
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        """By anchor name: value, nodes, depth."""
        self._nodes = 0
        self._documents = 0
        self._handlers: dict[str, Callable[[Any], None]] = {
            "ScalarEvent": self._scalar,
            "MappingStartEvent": lambda event: self._open({}, "map", event),
            "SequenceStartEvent": lambda event: self._open([], "seq", event),
            "MappingEndEvent": self._close,
            "SequenceEndEvent": self._close,
            "AliasEvent": self._alias,
            "DocumentStartEvent": self._document,
        }

    def take(self, kind: str, event: Any) -> None:
        """Handle one parser event."""
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(event)

    def _wrong(self, event: Any, rule: str, key: str | None = None) -> None:
        """Report a problem with the next value, or with a key of the current mapping."""
        path = self._path() if key is None else below(self._path(), key)
        self.problems.append(DocumentProblem(path, _line(event), rule))
        if len(self.problems) >= MOST_PROBLEMS:
            raise DocumentError(self.problems)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            refuse("must be one document: another begins here", line=_line(event))

    def _count(self, event: Any, nodes: int = 1) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.nodes:
            refuse_too_many(self._limits, _line(event))

    def _open(self, value: dict[str, Any] | list[Any], shape: str, event: Any) -> None:
        self._count(event)
        if len(self._stack) >= self._limits.depth:
            refuse_too_deep(self._limits, _line(event))
        if self._stack and self._stack[-1].expects_key:
            refuse("a key must be a plain string", self._path(), _line(event))
        self._note_line(event)
        self._tag(event, shape)
        self._stack.append(_Frame(value, event.anchor, self._nodes))

    def _path(self) -> str:
        """The path of the next value."""
        return reduce(lambda path, frame: frame.next_in(path), self._stack, "")

    def _note_line(self, event: Any) -> None:
        if self._limits.lines:
            self.lines.setdefault(self._path(), _line(event))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if isinstance(frame.value, dict) and frame.merged:
            frame.value = self._merge(event, frame.merged[0], frame.value)
        if frame.anchor:
            self._anchors[frame.anchor] = (
                frame.value,
                self._nodes - frame.nodes + 1,
                _depth(frame.value, self._limits),
            )
        self._put(frame.value)

    def _scalar(self, event: Any) -> None:
        self._count(event)
        if self._stack and self._stack[-1].expects_key:
            self._key(event)
            return
        self._note_line(event)
        value = self._value(event)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1, 0)
        self._put(value)

    def _alias(self, event: Any) -> None:
        if (
            not self._limits.aliases
            or event.anchor not in self._anchors
            or (self._stack and self._stack[-1].expects_key)
        ):
            refuse(f"the alias *{event.anchor} cannot be used here", line=_line(event))
        value, nodes, depth = self._anchors[event.anchor]
        self._count(event, nodes)
        if len(self._stack) + depth > self._limits.depth:
            refuse_too_deep(self._limits, _line(event))
        self._note_line(event)
        self._put(value)

    def _key(self, event: Any) -> None:
        frame = self._stack[-1]
        frame.is_merge = bool(event.value == "<<" and event.implicit[0])
        if frame.merged if frame.is_merge else event.value in frame.value:
            self._wrong(event, "given twice in one object", event.value)
        frame.key = event.value
        self._note_line(event)

    def _put(self, value: Any) -> None:
        if self._stack:
            self._stack[-1].put(value)
        else:
            self.result = value

    def _merge(self, event: Any, sources: Any, value: dict[str, Any]) -> dict[str, Any]:
        """The mapping merged with the values of `<<`. Its own keys win, then earlier entries of the list."""
        merged: dict[str, Any] = {}
        for source in reversed(sources if isinstance(sources, list) else [sources]):
            if not isinstance(source, dict):
                self._wrong(event, "<< must name an object or a list of objects")
                return value
            merged.update(source)
        return {**merged, **value}

    def _tag(self, event: Any, *names: str) -> str:
        """The short name of the tag, '' for none. A tag that is not plain data is a problem."""
        if event.tag in (None, "!"):
            return ""
        name = str(event.tag).removeprefix("tag:yaml.org,2002:")
        if name not in names:
            self._wrong(event, f"must have no tag ({str(event.tag)[:64]})")
            return ""
        return name

    def _value(self, event: Any) -> Any:
        tag = self._tag(event, "str", "int", "float", "bool", "null")
        text: str = event.value
        if tag == "str" or (not tag and (event.style or event.tag == "!")):
            return text
        try:
            value = plain_scalar(text)
        except ValueError as error:
            self._wrong(event, str(error))
            return None
        if tag and not isinstance(value, KINDS[tag]):
            self._wrong(event, f"{text[:40]!r} is not a {tag}")
        return value


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _depth(value: Any, limits: DocumentLimits) -> int:
    depth, level = 0, [value]
    while level := [item for one in level if isinstance(one, dict | list) for item in children(one)]:
        depth += 1
        if depth > limits.depth:
            break
    return depth
