"""Merges configuration documents: JSON merge patch (RFC 7386), keeping the source of every value."""

from __future__ import annotations

from typing import Any

from supervision.documents.model import below


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a merge patch: objects merge by key, null deletes, all else replaces. Neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def without_nulls(value: Any) -> Any:
    """Remove nulls, which mean not given, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def leaves(value: Any, path: str = "") -> list[str]:
    """The paths that a patch sets; a list is one path, because the merge replaces it as a whole."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, below(path, key))]
    return [path]


def at(data: dict[str, Any], path: str) -> Any:
    """The value at a dotted field path, or None."""
    value: Any = data
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set a field in place, replacing its value. Does nothing if a parent is not an object."""
    *parents, last = path.split(".")
    inner: Any = data
    for key in parents:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            return
    inner[last] = value
