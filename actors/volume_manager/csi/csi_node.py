"""The CSINode object: the drivers of this node, and the node's ID for each. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .model import Driver

Obj = dict[str, Any]
MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NODE_IDS: Final = "csi.volume.kubernetes.io/nodeid"
MOST_VOLUMES: Final = (1 << 31) - 1
"""The API has no larger count."""
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
_MIGRATED_TEXT: Final = ",".join(f"kubernetes.io/{plugin}" for plugin in _MIGRATED)


def new_csi_node(name: str, uid: str) -> Obj:
    """A new CSINode, owned by the Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    metadata = {"name": name, "ownerReferences": [owner]}
    empty: Obj = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata}
    return initialized({**empty, "spec": {"drivers": []}})


def is_owned(found: Obj, uid: str) -> bool:
    """Whether the CSINode belongs to the Node with this UID, not to an earlier one with the same name."""
    meta = found["metadata"]
    owners = meta.get("ownerReferences") or []
    return any((one.get("kind"), one.get("name"), one.get("uid")) == ("Node", meta["name"], uid) for one in owners)


def initialized(found: Obj) -> Obj:
    """The CSINode with its annotation."""
    meta = found["metadata"]
    annotations = {**(meta.get("annotations") or {}), MIGRATED: _MIGRATED_TEXT}
    return {**found, "metadata": {**meta, "annotations": annotations}}


def with_driver(node: Obj, driver: Driver) -> Obj:
    """The CSINode with the entry of this driver added or replaced."""
    entry: Obj = {"name": driver.name, "nodeID": driver.node_id, "topologyKeys": sorted(driver.topology)}
    if driver.max_volumes:
        entry["allocatable"] = {"count": min(driver.max_volumes, MOST_VOLUMES)}
    if entry in ((node.get("spec") or {}).get("drivers") or []):
        return node  # in its place
    others = without_driver(node, driver.name)["spec"]["drivers"]
    return {**node, "spec": {"drivers": [*others, entry]}}


def without_driver(node: Obj, name: str) -> Obj:
    drivers = (node.get("spec") or {}).get("drivers") or []
    return {**node, "spec": {"drivers": [one for one in drivers if one["name"] != name]}}


def collision(node: Obj, driver: Driver) -> str:
    """The conflict between the driver's topology and the Node's labels, which are not replaced; '' for none."""
    labels = _labels(node)
    for key, value in sorted(driver.topology.items()):
        if key in labels and labels[key] != value:
            reported, existing = f'"{key}":"{value}"', f'"{key}":"{labels[key]}"'
            return f"detected topology value collision: driver reported {reported} but existing label is {existing}"
    return ""


def node_patch(node: Obj, driver: Driver) -> Obj:
    """Merge patch of the Node: its ID for the driver, and the driver's topology labels; {} for no change."""
    ids, labels = node_ids(node), _labels(node)
    changed = {key: value for key, value in driver.topology.items() if key not in labels}
    patch: Obj = {"labels": changed} if changed else {}
    if ids.get(driver.name) != driver.node_id:
        patch["annotations"] = {NODE_IDS: _ids_text({**ids, driver.name: driver.node_id})}
    return {"metadata": patch} if patch else {}


def node_patch_without(node: Obj, name: str) -> Obj:
    """Merge patch of the Node that removes its ID for the driver; {} for no change."""
    ids = node_ids(node)
    if name not in ids:
        return {}
    del ids[name]
    return {"metadata": {"annotations": {NODE_IDS: _ids_text(ids) if ids else None}}}


def node_ids(node: Obj) -> dict[str, str]:
    """The node's IDs, by driver."""
    text = ((node.get("metadata") or {}).get("annotations") or {}).get(NODE_IDS, "")
    try:
        found: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except UNREADABLE:
        return {}
    return found


def _ids_text(ids: Mapping[str, str]) -> str:
    """As the kubelet writes it: otherwise each of the two would write the annotation again after the other."""
    return json.dumps(ids, sort_keys=True, separators=(",", ":"))


def _labels(node: Obj) -> dict[str, str]:
    return (node.get("metadata") or {}).get("labels") or {}
