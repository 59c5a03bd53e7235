"""/runningpods/: the running pods of the runtime, as a v1 PodList with few fields."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox


async def get(handler: ServerHandler) -> None:
    runtime = handler.state.runtime
    try:
        sandboxes, containers = await runtime.list_pod_sandboxes(), await runtime.list_containers()
    except CriError as error:
        raise HttpError(500, error.rpc_text) from None
    handler.finish_json(msgspec.json.encode(pod_list(sandboxes, containers)))


def pod_list(sandboxes: list[Sandbox], containers: list[CriContainer]) -> dict[str, Any]:
    """The pods with a running sandbox or container. Pure."""
    pods: dict[str, dict[str, Any]] = {}
    for sandbox in sandboxes:
        if sandbox.ready:
            pods[sandbox.pod_uid] = _pod(sandbox.pod_uid, sandbox.pod_name, sandbox.pod_namespace)
    for container in containers:
        if container.state is CriContainerState.RUNNING:
            whose = (container.pod_uid, container.pod_name, container.pod_namespace)
            pod = pods.setdefault(container.pod_uid, _pod(*whose))
            image = container.image or container.image_ref
            pod["spec"]["containers"].append({"name": container.name, "image": image, "resources": {}})
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(pods.values())}


def _pod(uid: str, name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return {"metadata": metadata, "spec": {"containers": []}, "status": {}}


ENDPOINT = Endpoint(
    paths=("/runningpods",), answers={"GET": get}, subresources=("pods", "proxy"), answers_405_when_disabled=True
)
