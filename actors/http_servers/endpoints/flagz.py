"""/flagz: each flag with its effective value (KEP-4828)."""

from __future__ import annotations

from actors.config_controller.messages import CONFIG_CONTROLLER, GetFlagz
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.z_page import negotiated, text_page


async def get(handler: ServerHandler) -> None:
    form = negotiated(handler.request.headers.get("Accept", ""), "Flagz")
    found = await handler.ask(CONFIG_CONTROLLER, GetFlagz())
    flags = dict(sorted(found.flags.items()))
    if form:
        handler.finish_form(form, {"flags": flags})
    else:
        await handler.finish(text_page("kubelet flagz", [f"{name}={value}" for name, value in flags.items()]))


ENDPOINT = Endpoint(
    paths=("/flagz",), answers={"GET": get}, subresources=("configz",), gate="ComponentFlagz", exact=True, heads=True
)
