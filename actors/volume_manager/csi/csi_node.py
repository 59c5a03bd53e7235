"""The CSINode object: the drivers of this node, and the node's ID for each. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from supervision.errors import UNREADABLE

from .model import Driver

Obj = dict[str, Any]
MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NODE_IDS: Final = "csi.volume.kubernetes.io/nodeid"
_MIGRATED: Final = (
    "aws-ebs",
    "azure-disk",
    "azure-file",
    "cinder",
    "gce-pd",
    "portworx-volume",
    "vsphere-volume",
)
"""In-tree plugins that Kubernetes migrated to CSI drivers (KEP-625)."""


def new_csi_node(name: str, uid: str) -> Obj:
    """A new CSINode, owned by the Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    migrated = ",".join(f"kubernetes.io/{plugin}" for plugin in _MIGRATED)
    meta = {"name": name, "ownerReferences": [owner], "annotations": {MIGRATED: migrated}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": []}}


def with_driver(node: Obj, driver: Driver) -> Obj:
    """The CSINode with the entry of this driver added or replaced."""
    entry: Obj = {"name": driver.name, "nodeID": driver.node_id, "topologyKeys": sorted(driver.topology)}
    if driver.max_volumes:
        entry["allocatable"] = {"count": driver.max_volumes}
    others = without_driver(node, driver.name)["spec"]["drivers"]
    return {**node, "spec": {"drivers": [*others, entry]}}


def without_driver(node: Obj, name: str) -> Obj:
    drivers = (node.get("spec") or {}).get("drivers") or []
    return {**node, "spec": {"drivers": [one for one in drivers if one["name"] != name]}}


def node_patch(node: Obj, driver: Driver) -> Obj:
    """Merge patch of the Node: its ID for the driver, and the driver's topology labels; {} for no change."""
    meta = node.get("metadata") or {}
    ids, labels = node_ids(node), meta.get("labels") or {}
    changed = {key: value for key, value in driver.topology.items() if labels.get(key) != value}
    patch: Obj = {"labels": changed} if changed else {}
    if ids.get(driver.name) != driver.node_id:
        patch["annotations"] = {NODE_IDS: json.dumps({**ids, driver.name: driver.node_id}, sort_keys=True)}
    return {"metadata": patch} if patch else {}


def node_patch_without(node: Obj, name: str) -> Obj:
    """Merge patch of the Node that removes its ID for the driver; {} for no change."""
    ids = node_ids(node)
    if name not in ids:
        return {}
    del ids[name]
    return {"metadata": {"annotations": {NODE_IDS: json.dumps(ids, sort_keys=True) if ids else None}}}


def node_ids(node: Obj) -> dict[str, str]:
    """The node's IDs, by driver."""
    text = ((node.get("metadata") or {}).get("annotations") or {}).get(NODE_IDS, "")
    try:
        found = json.loads(text) if text else {}
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}
