"""/portForward/{namespace}/{pod}[/{uid}]: connections to ports of a pod."""

from __future__ import annotations

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.streaming.options import ports
from actors.http_servers.streaming.stream import Target, find_for_stream, query, serve, translated_protocol
from actors.shared.kube.names import POD_UID_LABEL


async def answer(handler: ServerHandler, namespace: str, pod: str, uid: str = "") -> None:
    async def target() -> Target:
        websocket = handler.request.headers.get("Upgrade", "").lower() == "websocket"
        websocket = websocket and not translated_protocol(handler)  # a tunnel names its ports in its streams
        wanted = ports(query(handler), websocket=websocket)
        found = await find_for_stream(handler, namespace, pod, uid, HttpError(404, "pod not found"))
        runtime, metadata = handler.state.runtime, found.pod.metadata
        sandboxes = await runtime.list_pod_sandboxes({POD_UID_LABEL: metadata.uid})
        ready = [sandbox for sandbox in sandboxes if sandbox.ready]
        if not ready:
            raise HttpError(500, f'pod not found ("{metadata.name}_{metadata.namespace}")')
        newest = max(ready, key=lambda one: one.created_ns)
        return Target(await runtime.port_forward_url(newest.id, wanted))

    await serve(handler, target)


ENDPOINT = Endpoint(
    paths=("/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"),
    answers={"GET": answer, "POST": answer},
    answers_405_when_disabled=True,
    long_running=True,
)
