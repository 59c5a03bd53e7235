"""/pods: each pod of this node, as received from its source, with its status."""

from __future__ import annotations

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.status_manager.messages import STATUS_MANAGER, GetPods


async def get(handler: ServerHandler) -> None:
    handler.finish_json((await handler.ask(STATUS_MANAGER, GetPods())).data)


ENDPOINT = Endpoint(paths=("/pods",), answers={"GET": get}, subresources=("pods", "proxy"), on_read_only_server=True)
