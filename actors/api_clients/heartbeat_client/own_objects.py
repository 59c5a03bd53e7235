"""The node's own objects, its Node and its Lease, out of answers of the API server. Pure.

They stay plain data, so that unknown fields are written back unchanged; the used fields have the API's types. A proxy
may answer 200 to anything, so another object than the node's own does not count as an answer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.shared.api.errors import Unreachable
from actors.shared.kube.codec import ObjectError, plain

Json = dict[str, Any]


class _Meta(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    resourceVersion: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: list[Json] = []


class _Named(msgspec.Struct, frozen=True):
    metadata: _Meta


class _LeaseSpec(msgspec.Struct, frozen=True):
    """Any object is accepted."""


class _Lease(_Named, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str = ""
    lastTransitionTime: str = ""


class _Address(msgspec.Struct, frozen=True):
    type: str
    address: str


class _NodeInfo(msgspec.Struct, frozen=True):
    bootID: str = ""
    containerRuntimeVersion: str = ""


class _NodeSpec(msgspec.Struct, frozen=True):
    podCIDR: str = ""
    podCIDRs: list[str] = []
    unschedulable: bool = False


class _NodeStatus(msgspec.Struct, frozen=True):
    capacity: Json = {}
    allocatable: Json = {}
    conditions: list[_Condition] = []
    addresses: list[_Address] = []
    nodeInfo: _NodeInfo = _NodeInfo()


class _Node(_Named, frozen=True):
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


def read_node(body: bytes, name: str) -> Json:
    """The Node of this name, without nulls. Raises Unreachable for anything else."""
    return _read(body, _Node, "Node", name)


def read_lease(body: bytes, name: str) -> Json:
    """The Lease of this name, without nulls. Raises Unreachable for anything else."""
    return _read(body, _Lease, "Lease", name)


def _read(body: bytes, shape: type[_Named], kind: str, name: str) -> Json:
    try:
        data = plain(body, shape)
    except ObjectError as error:
        raise Unreachable(0, "Unreachable", f"the answer is not the {kind} {name}: {error}") from None
    found = data["metadata"]["name"]
    if found != name:
        raise Unreachable(0, "Unreachable", f"the answer is not the {kind} {name}, but {found[:253]!r}")
    return data
