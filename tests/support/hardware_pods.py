"""Pods that ask for hardware."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import Pod


def asking(name: str, cpu: str = "1", memory: str = "64Mi", **more: Any) -> dict[str, Any]:
    """A container with equal requests and limits; `more`: huge pages by name, and other fields."""
    others = {key: value for key, value in more.items() if key.startswith("hugepages-")}
    rest = {key: value for key, value in more.items() if not key.startswith("hugepages-")}
    return {"name": name, "image": "i", "resources": {"limits": {"cpu": cpu, "memory": memory, **others}}, **rest}


def pod_of(*containers: dict[str, Any], uid: str = "u", init: list[dict[str, Any]] | None = None, **spec: Any) -> Pod:
    """A pod with these containers; Guaranteed if all of them are."""
    whole = {"containers": list(containers), "initContainers": init or [], **spec}
    return decode_pod(
        msgspec.json.encode({"metadata": {"name": f"p-{uid}", "namespace": "n", "uid": uid}, "spec": whole})
    )
