"""Mirror pods: the objects that show a static pod at the API server (Kubernetes docs, Static Pods). Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.names import CONFIG_HASH, CONFIG_MIRROR
from actors.shared.kube.pod import Pod

from .api_pods import ApiPod


def is_mirror_of(mirror: ApiPod, static: Pod) -> bool:
    """Whether it is the mirror of this version of the static pod, and is not being deleted."""
    wanted = static.metadata.annotations.get(CONFIG_HASH, "")
    return mirror.mirror_hash == wanted and mirror.metadata.deletionTimestamp is None


def mirror_pod(static: bytes, node_name: str, node_uid: str) -> bytes:
    """The mirror pod to create, as JSON. The node owns it, as NodeRestriction demands; the server assigns its UID."""
    pod: dict[str, Any] = msgspec.json.decode(static)
    meta = pod["metadata"]
    annotations = dict(meta.get("annotations") or {})
    annotations[CONFIG_MIRROR] = annotations.get(CONFIG_HASH, "")
    owner = {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_uid, "controller": True}
    metadata = {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "annotations": annotations,
        "ownerReferences": [owner],
    }
    if meta.get("labels"):
        metadata["labels"] = meta["labels"]
    return codec.encode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]})
