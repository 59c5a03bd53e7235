"""The kinds of PATCH: json, merge, strategic merge, and a simple form of apply."""

from __future__ import annotations

from typing import Any

import msgspec

from .errors import StatusError, generic
from .objects import Obj, copy
from .strategic import strategic_merge

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
FORMS = (JSON, MERGE, STRATEGIC, APPLY)


def patched(kind: str, content_type: str, current: Obj, body: bytes) -> Obj:
    """A new object. Raises StatusError 400, 415, 422."""
    form = content_type.partition(";")[0].strip()
    try:
        if form == APPLY:
            return strategic_merge(kind, copy(current), msgspec.yaml.decode(body))
        patch = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise StatusError(400, f"error decoding patch: {error}") from None
    if form == JSON:
        return json_patch(copy(current), patch)  # type: ignore[no-any-return]
    if form == MERGE:
        return merge(copy(current), patch)  # type: ignore[no-any-return]
    if form == STRATEGIC:
        return strategic_merge(kind, copy(current), patch)
    raise generic(415)


def merge(current: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    made = current if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merge(made.get(key), value)
    return made


def json_patch(document: Any, operations: Any) -> Any:
    """RFC 6902."""
    if not isinstance(operations, list):
        raise StatusError(400, "error decoding patch: a json patch is a list")
    try:
        for operation in operations:
            document = _operate(document, operation)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise generic(422) from error
    return document


def _operate(document: Any, operation: Obj) -> Any:
    verb, path = operation["op"], _pointer(operation["path"])
    if verb == "add":
        return _add(document, path, operation["value"])
    if verb == "remove":
        return _remove(document, path)
    if verb == "replace":
        _at(document, path)
        return _add(_remove(document, path), path, operation["value"])
    if verb == "test":
        if _at(document, path) != operation["value"]:
            raise ValueError(f"testing value {operation['path']} failed")
        return document
    source = _pointer(operation["from"])
    value = copy(_at(document, source))
    if verb == "move":
        document = _remove(document, source)
    elif verb != "copy":
        raise ValueError(f"Unexpected kind: {verb}")
    return _add(document, path, value)


def _pointer(text: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _at(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _at(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else int(last), value)
    else:
        parent[last] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    parent, last = _at(document, path[:-1]), path[-1]
    del parent[int(last) if isinstance(parent, list) else last]
    return document
