"""Bytes to plain data (dict, list, str, int, float, bool, None), with the line of each field."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final, NoReturn

from ..errors import UNREADABLE
from .model import (
    DocumentError,
    DocumentLimits,
    DocumentProblem,
    below,
    children,
    refuse,
    refuse_too_deep,
    refuse_too_many,
)
from .yaml_reader import read_yaml


def read(raw: bytes, limits: DocumentLimits) -> tuple[Any, dict[str, int]]:
    """Returns the data (None for an empty document) and the line of each path (none for JSON). Raises DocumentError."""
    if len(raw) > limits.size:
        refuse(f"must be at most {_size_text(limits.size)}, not {len(raw)} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(f"must be UTF-8 (byte {error.start})")
    if not text.lstrip().startswith("{"):
        return read_yaml(text, limits)
    try:
        return _read_json(text, limits), {}
    except json.JSONDecodeError as error:
        # YAML in flow style starts with a brace as well
        return read_yaml(text, limits, DocumentProblem("", error.lineno, f"is not JSON: {error.msg}"))


def _size_text(size: int) -> str:
    return f"{size >> 20} MiB" if not size % (1 << 20) else f"{size} bytes"


_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _read_json(text: str, limits: DocumentLimits) -> Any:
    """Raises JSONDecodeError if it is not JSON, DocumentError if it is JSON that is not accepted."""
    twice: set[str] = set()

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return found

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=_no_constant)
    except (json.JSONDecodeError, DocumentError):
        raise
    except UNREADABLE as error:
        refuse(f"is not JSON: {error}")
    if twice:
        raise DocumentError(DocumentProblem(below("", key), 0, "given twice in one object") for key in sorted(twice))
    _check_size(value, limits)
    if _SURROGATE.search(text):
        _check_text(value)
    return value


def _no_constant(name: str) -> NoReturn:
    refuse(f"is not JSON: {name}")


def _check_text(value: Any) -> None:
    """A lone surrogate cannot be encoded as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        refuse("must not contain a lone surrogate")


def _check_size(value: Any, limits: DocumentLimits) -> None:
    level, nodes = [value], 0
    for _ in range(limits.depth + 1):
        nodes += len(level)
        if nodes > limits.nodes:
            refuse_too_many(limits)
        level = [item for one in level if isinstance(one, dict | list) for item in children(one)]
        if not level:
            return
    refuse_too_deep(limits)
