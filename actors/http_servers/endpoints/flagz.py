"""/flagz: each flag with its effective value (KEP-4828)."""

from __future__ import annotations

from actors.config_controller.messages import CONFIG_CONTROLLER, GetFlagz
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import Handler
from actors.http_servers.serving.z_page import page


async def get(handler: Handler) -> None:
    found = await handler.ask(CONFIG_CONTROLLER, GetFlagz())
    await handler.finish(page("kubelet flagz", [f"{name}={value}" for name, value in sorted(found.flags.items())]))


ENDPOINT = Endpoint(paths=("/flagz",), answers={"GET": get}, subresources=("configz",), gate="ComponentFlagz")
