"""The difference of two Node objects as a strategic merge patch. Pure, on plain JSON data.

Maps merge by key, null removes one. Of the lists of a Node `conditions` merge by type; `addresses` do in the server's
schema, too, but have several of one type on a dual-stack node, so they are replaced as a whole; all others are atomic.
An empty field in a status equals a missing one: the server omits some empty fields, but not all (Go's omitempty).
"""

from __future__ import annotations

from typing import Any

CONTENT_TYPE = "application/strategic-merge-patch+json"
_MERGED_BY = {"conditions": "type"}
_REPLACED = frozenset({"addresses"})

Json = dict[str, Any]


def node_patch(old: Json, new: Json) -> Json:
    """The patch from `old` to `new`, of labels, annotations and status only; {} for no difference."""
    patch: Json = {}
    metadata = {}
    for field in ("labels", "annotations"):
        changed = _map(_part(old, "metadata", field), _part(new, "metadata", field))
        if changed:
            metadata[field] = changed
    status = _map(without_empty(old.get("status") or {}), without_empty(new.get("status") or {}))
    if metadata:
        patch["metadata"] = metadata
    if status:
        patch["status"] = status
    return patch


def without_empty(value: Any) -> Any:
    """Plain data without its empty fields, at every depth; `false` is a value, and stays."""
    if isinstance(value, dict):
        kept = {name: without_empty(field) for name, field in value.items()}
        return {name: field for name, field in kept.items() if field or field is False}
    return [without_empty(element) for element in value] if isinstance(value, list) else value


def _part(node: Json, *path: str) -> Json:
    for name in path:
        node = node.get(name) or {}
    return node


def _map(old: Json, new: Json) -> Json:
    patch: Json = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if value == before:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            patch[name] = _map(before, value)
        elif name in _MERGED_BY and isinstance(before, list):
            patch[name] = _list_patch(before, value, _MERGED_BY[name])
        elif name in _REPLACED:
            patch[name] = [*value, {"$patch": "replace"}]
        else:
            patch[name] = value
    return patch


def _list_patch(old: list[Json], new: list[Json], key: str) -> list[Json]:
    """New elements, and the differing fields of changed ones; then the elements to remove.

    An element without a key, which no patch can name, stays as it is.
    """
    before = {element[key]: element for element in old if key in element}
    named = [element for element in new if key in element]
    kept = {element[key] for element in named}
    changed = []
    for element in named:
        fields = _map(before.get(element[key], {}), element)
        if fields:
            changed.append({**fields, key: element[key]})
    return changed + [{"$patch": "delete", key: gone} for gone in before if gone not in kept]
