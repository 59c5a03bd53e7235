"""Pods for the tests of eviction."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.eviction_manager.usage_reader import RunningPod
from actors.shared.kube.codec import decode_pod


def container(name: str = "main", **resources: Any) -> dict[str, Any]:
    """`resources`: requests, limits."""
    return {"name": name, "image": "i", "resources": resources}


def active(
    *containers: dict[str, Any], uid: str = "u", annotations: dict[str, str] | None = None, **spec: Any
) -> RunningPod:
    metadata = {"name": f"pod-{uid}", "namespace": "n", "uid": uid, "annotations": annotations or {}}
    made = {"metadata": metadata, "spec": {"containers": list(containers) or [container()], **spec}}
    return RunningPod(decode_pod(msgspec.json.encode(made)), {})
