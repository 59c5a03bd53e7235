"""/pods: each pod of this node, as received from its source, with its status."""

from __future__ import annotations

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.status_manager.messages import STATUS_MANAGER, GetPods

_HEAD = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":['


class _PodList(msgspec.Struct):
    items: list[msgspec.Raw]


async def get(handler: ServerHandler) -> None:
    page = await handler.ask(STATUS_MANAGER, GetPods())
    if not page.rest:
        handler.finish_json(page.data)
        return
    handler.set_header("Content-Type", "application/json")
    separator = _HEAD
    while True:
        for item in msgspec.json.decode(page.data, type=_PodList).items:
            handler.write(separator + bytes(item))
            separator = b","
        await handler.flush()  # page by page: all pods together may be larger than this actor's memory
        if not page.rest:
            break
        page = await handler.ask(STATUS_MANAGER, GetPods(page.rest))
    handler.finish(b"]}")


ENDPOINT = Endpoint(paths=("/pods",), answers={"GET": get}, subresources=("pods", "proxy"), on_read_only_server=True)
