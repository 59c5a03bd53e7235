"""PUT /debug/flags/v: sets the log verbosity of every actor."""

from __future__ import annotations

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.shared.config.fields.log_settings import set_logging
from supervision.protocol import FORK_SERVER

_MOST = 100
_DIGITS = 9


async def put(handler: ServerHandler) -> None:
    """The body is a whole number."""
    text = handler.request.body.decode("utf-8", "replace").strip()
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS or int(text) > _MOST:
        reason = f'strconv.ParseInt: parsing "{text[:20]}": invalid syntax'
        raise HttpError(400, f"failed set klog.logging.verbosity {text[:20]}: {reason}\n")
    order = msgspec.structs.replace(set_logging(handler.state.agent.config.logging), verbosity=int(text))
    handler.state.actor.tell(FORK_SERVER, order)
    await handler.finish(f"successfully set klog.logging.verbosity to {int(text)}")


ENDPOINT = Endpoint(
    paths=("/debug/flags/v",),
    answers={"PUT": put},
    switch=lambda config: config.enableDebugFlagsHandler,
    what="flags",
    exact=True,
)
