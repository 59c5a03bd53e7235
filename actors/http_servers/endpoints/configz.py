"""/configz: the effective configuration."""

from __future__ import annotations

from actors.config_controller.messages import CONFIG_CONTROLLER, GetConfigz
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler


async def get(handler: ServerHandler) -> None:
    handler.finish_json((await handler.ask(CONFIG_CONTROLLER, GetConfigz())).body)


ENDPOINT = Endpoint(
    paths=("/configz",), answers={"GET": get}, subresources=("configz", "proxy"), exact=True, heads=True
)
