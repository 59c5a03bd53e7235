"""Writes the drivers of this node to the API server: CSINode, labels and annotation of the Node."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.shared.kube.codec import ObjectError, plain

from . import csi_node
from .api_objects import MERGE_PATCH, STORAGE, ApiObjects
from .csi_node import Obj
from .errors import CsiError
from .model import Driver

MOST_NODE_ID_BYTES: Final = 256
"""The limit of the CSINode's API. The IDs of all drivers share one annotation of the Node: a long one would keep others
out."""
TRIES: Final = 5
"""Attempts at a write that conflicts with writes of other clients."""


NODE: Final = "node"
CSI_NODE: Final = "CSINode"


class _NodeMeta(msgspec.Struct):
    uid: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Node(msgspec.Struct):
    """The fields of a Node that are used."""

    metadata: _NodeMeta


class _Meta(msgspec.Struct):
    name: str
    annotations: dict[str, str] = {}


class _Driver(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, frozen=True):
    drivers: list[_Driver] = []


class _CSINode(msgspec.Struct):
    """The fields of a CSINode that are used."""

    metadata: _Meta
    spec: _Spec = _Spec()


class ObjectChange(Protocol):
    def __call__(self, node: Obj) -> Obj: ...


class NodeObjects:
    """Each method raises CsiError."""

    def __init__(self, api: ApiObjects, node_name: str) -> None:
        self._api, self._name = api, node_name

    async def ensure(self) -> None:
        """Create the CSINode, which every node has, with or without drivers."""
        node = await self._node()
        await self._write(node["metadata"]["uid"], lambda found: found)

    async def add(self, driver: Driver) -> None:
        """Add the driver, or replace its entry."""
        if not driver.node_id:
            raise CsiError("error adding CSI driver node info: driverNodeID must not be empty")
        if (size := len(driver.node_id.encode())) > MOST_NODE_ID_BYTES:
            text = f"driverNodeID has {size} bytes, and {MOST_NODE_ID_BYTES} are the most"
            raise CsiError(f"error adding CSI driver node info: {text}")
        node = await self._node()
        if problem := csi_node.collision(node, driver):
            raise CsiError(f"error updating Node object with CSI driver node info: {problem}")
        patch = csi_node.node_patch(node, driver)
        if patch:
            _ok(await self._api.call("PATCH", self._node_path, patch, MERGE_PATCH), NODE)
        uid = node["metadata"]["uid"]
        await self._write(uid, lambda node: csi_node.with_driver(node, driver))

    async def remove(self, name: str) -> None:
        node = await self._node()
        patch = csi_node.node_patch_without(node, name)
        if patch:
            _ok(await self._api.call("PATCH", self._node_path, patch, MERGE_PATCH), NODE)
        await self._write(node["metadata"]["uid"], lambda node: csi_node.without_driver(node, name))

    @property
    def _node_path(self) -> str:
        return f"/api/v1/nodes/{self._name}"

    async def _node(self) -> Obj:
        return _ok(await self._api.call("GET", self._node_path), NODE)

    async def _write(self, uid: str, change: ObjectChange) -> None:
        path = f"{STORAGE}/csinodes"
        for _ in range(TRIES):
            answer = await self._api.call("GET", f"{path}/{self._name}")
            if answer.reason == "NotFound":
                created = change(csi_node.new_csi_node(self._name, uid))
                answer = await self._api.call("POST", path, created)
            elif not csi_node.is_owned(current := _ok(answer, CSI_NODE), uid):
                # the drivers of an earlier machine with this name do not run here
                answer = await self._api.call("DELETE", f"{path}/{self._name}")
                if answer.ok or answer.reason == "NotFound":
                    continue
            else:
                changed = change(csi_node.initialized(current))
                if changed == current:
                    return
                answer = await self._api.call("PUT", f"{path}/{self._name}", changed)
            if answer.status != 409:
                break
        _ok(answer, CSI_NODE)


def _ok(answer: ApiAnswer, what: str) -> Obj:
    if not answer.ok:
        raise CsiError(f"{what}: {answer.reason or answer.status}: {answer.message}")
    try:
        return plain(answer.body, _CSINode if what == CSI_NODE else _Node)
    except ObjectError as error:
        raise CsiError(f"{what}: the answer is none: {error}") from None
