"""The annotations of the node that kube_client reads. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.errors import UNREADABLE

from .object_cache import DEFAULT_TTL

TTL_ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"


class _Meta(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: _Meta


def annotations_of(node: bytes) -> dict[str, str]:
    """`node`: JSON of the Node; {} if it cannot be read."""
    try:
        return msgspec.json.decode(node, type=_Node).metadata.annotations or {}
    except UNREADABLE:
        return {}


def ttl_of(annotations: dict[str, str]) -> float:
    """The TTL of objects of strategy Cache in seconds; the control plane sets it by the size of the cluster."""
    text = annotations.get(TTL_ANNOTATION, "")
    return float(text[:9]) if text.isascii() and text.isdigit() else DEFAULT_TTL
