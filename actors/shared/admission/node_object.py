"""The part of the Node object that admission reads: name, labels and taints. Pure."""

from __future__ import annotations

import msgspec

from supervision.errors import UNREADABLE


class Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str = ""
    value: str = ""


class NodeMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class NodeSpec(msgspec.Struct, frozen=True):
    taints: list[Taint] | None = None


class NodeObject(msgspec.Struct, frozen=True):
    """The part of a Node object that admission reads."""

    metadata: NodeMetadata = NodeMetadata()
    spec: NodeSpec = NodeSpec()


_NODE = msgspec.json.Decoder(NodeObject)


def read_node(body: bytes) -> NodeObject | None:
    """None for an object that is not a Node."""
    try:
        return _NODE.decode(body)
    except UNREADABLE:
        return None
