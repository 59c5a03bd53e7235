"""The part of the Node object that admission reads: name, labels, taints and extended resources. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.kube.extended_resources import is_extended
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Toleration
from actors.shared.kube.quantity import QuantityError, quantity_value
from supervision.errors import UNREADABLE


class NodeTaint(msgspec.Struct, frozen=True):
    key: str
    effect: str = ""
    value: str = ""


class NodeMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class NodeSpec(msgspec.Struct, frozen=True):
    taints: list[NodeTaint] | None = None


class NodeObject(msgspec.Struct, frozen=True):
    """The part of a Node object that admission reads."""

    metadata: NodeMetadata = NodeMetadata()
    spec: NodeSpec = NodeSpec()
    extended: dict[str, int] = {}
    """Allocatable extended resources, advertised by plugins or by others."""


class _Status(msgspec.Struct):
    allocatable: dict[str, Quantity] | None = None


class _Node(msgspec.Struct):
    metadata: NodeMetadata = NodeMetadata()
    spec: NodeSpec = NodeSpec()
    status: _Status = msgspec.field(default_factory=_Status)


_NODE = msgspec.json.Decoder(_Node)


def tolerates(toleration: Toleration, taint: NodeTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.key == taint.key and toleration.value == taint.value


def read_node(body: bytes) -> NodeObject | None:
    """Read the node; None for an object that is not a Node."""
    try:
        node = _NODE.decode(body)
        amounts = {
            name: quantity_value(value) for name, value in (node.status.allocatable or {}).items() if is_extended(name)
        }
    except (*UNREADABLE, QuantityError):
        return None
    return NodeObject(node.metadata, node.spec, amounts)
