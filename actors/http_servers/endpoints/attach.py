"""/attach/{namespace}/{pod}[/{uid}]/{container}: the streams of a container's main process."""

from __future__ import annotations

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.streaming.options import streams
from actors.http_servers.streaming.stream import Target, container_id, find_for_stream, query, serve
from actors.shared.kube.pods import find_container
from proto import cri_pb2 as cri


async def answer(handler: ServerHandler, namespace: str, pod: str, container: str, uid: str = "") -> None:
    async def target() -> Target:
        streams(query(handler))  # a request without a stream is refused, whether or not the pod exists
        text = f"container {container} not found in pod {pod}_{namespace}"
        found = await find_for_stream(handler, namespace, pod, uid, HttpError(500, text))
        # the container's spec decides whether there is a terminal
        specified = find_container(found.pod, container)
        wanted = streams(query(handler), tty=specified is not None and specified.tty)
        flags = msgspec.structs.asdict(wanted)
        request = cri.AttachRequest(container_id=container_id(found, container, text=text), **flags)
        return Target(await handler.state.runtime.attach_url(request), wanted)

    await serve(handler, target)


ENDPOINT = Endpoint(
    paths=("/attach/{namespace}/{pod}/{container}", "/attach/{namespace}/{pod}/{uid}/{container}"),
    answers={"GET": answer, "POST": answer},
    answers_405_when_disabled=True,
    long_running=True,
)
