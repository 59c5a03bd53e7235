"""The identity of a static pod: its UID, name and annotations."""

from __future__ import annotations

import json
from typing import Any, Final

from actors.shared.fnv import fnv1a_128
from actors.shared.kube.names import CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, SOURCE_FILE

_NO_EXECUTE: Final = {"operator": "Exists", "effect": "NoExecute"}


def static_uid(pod: dict[str, Any], node: str, source: str, origin: str) -> str:
    """The UID of a static pod without one: a hash of its manifest as written, and of its file or URL.

    The hash leaves out defaults, so that an upgrade of the agent does not change it. For a URL it leaves out the node.
    """
    text = json.dumps(pod, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    place = f"host:{node}file:{origin}" if source == SOURCE_FILE else f"url:{origin}"
    return fnv1a_128((text + place).encode("utf-8", "surrogatepass"))


def make_static(pod: dict[str, Any], node: str, source: str, origin: str) -> dict[str, Any]:
    """Add this node's fields to the pod, in place, except the time when it was first seen."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["uid"] = meta.get("uid") or static_uid(pod, node, source, origin)
    meta["name"] = f"{meta['name']}-{node.lower()}"
    meta["namespace"] = meta.get("namespace") or "default"
    meta["annotations"] = {**(meta.get("annotations") or {}), CONFIG_HASH: meta["uid"], CONFIG_SOURCE: source}
    spec["nodeName"] = node
    if source == SOURCE_FILE and _NO_EXECUTE not in (spec.get("tolerations") or ()):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), dict(_NO_EXECUTE)]
    pod["status"] = {"phase": "Pending"}
    return pod


def mark_seen(pod: dict[str, Any], when: str) -> None:
    """Annotate the pod with the time this node first saw it, RFC 3339 with nanoseconds."""
    pod["metadata"]["annotations"][CONFIG_SEEN] = when
