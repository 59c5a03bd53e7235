"""/runningpods/: what the runtime runs, whoever wanted it, as a v1 PodList of few fields."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.http_servers.serving.handler import Handler
from actors.http_servers.serving.runtime import client_of
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container, ContainerState, Sandbox


async def page(handler: Handler) -> None:
    """The answer to GET."""
    runtime = client_of(handler)
    try:
        sandboxes, containers = await runtime.list_pod_sandboxes(), await runtime.list_containers()
    except CriError as error:
        handler.refuse(500, str(error))
        return
    handler.set_header("Content-Type", "application/json")
    await handler.finish(msgspec.json.encode(pod_list(sandboxes, containers)))


def pod_list(sandboxes: list[Sandbox], containers: list[Container]) -> dict[str, Any]:
    """Pods with a sandbox or a container that runs. Pure."""
    pods: dict[str, dict[str, Any]] = {}
    for sandbox in sandboxes:
        if sandbox.ready:
            pods[sandbox.pod_uid] = _pod(sandbox.pod_uid, sandbox.pod_name, sandbox.pod_namespace)
    for container in containers:
        if container.state is ContainerState.RUNNING:
            whose = (container.pod_uid, container.pod_name, container.pod_namespace)
            pod = pods.setdefault(container.pod_uid, _pod(*whose))
            image = container.image or container.image_ref
            pod["spec"]["containers"].append({"name": container.name, "image": image, "resources": {}})
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(pods.values())}


def _pod(uid: str, name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return {"metadata": metadata, "spec": {"containers": []}, "status": {}}
