"""/exec/{namespace}/{pod}[/{uid}]/{container}: a command in a container, with its streams."""

from __future__ import annotations

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.streaming.options import command, streams
from actors.http_servers.streaming.stream import (
    Target,
    container_id,
    container_not_found,
    find_for_stream,
    query,
    serve,
)
from proto import cri_pb2 as cri


async def answer(handler: ServerHandler, namespace: str, pod: str, container: str, uid: str = "") -> None:
    async def target() -> Target:
        parameters = query(handler)
        wanted, words = streams(parameters), command(parameters)
        found = await find_for_stream(handler, namespace, pod, uid, container_not_found(container))
        flags = msgspec.structs.asdict(wanted)
        request = cri.ExecRequest(container_id=container_id(found, container), cmd=words, **flags)
        return Target(await handler.state.runtime.exec_url(request), wanted)

    await serve(handler, target)


ENDPOINT = Endpoint(
    paths=("/exec/{namespace}/{pod}/{container}", "/exec/{namespace}/{pod}/{uid}/{container}"),
    answers={"GET": answer, "POST": answer},
    answers_405_when_disabled=True,
    long_running=True,
)
