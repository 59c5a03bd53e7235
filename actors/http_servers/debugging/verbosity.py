"""PUT /debug/flags/v: how much is logged, from now on, by every actor."""

from __future__ import annotations

from typing import cast

import msgspec

from actors.http_servers.serving.handler import ASK_SECONDS, Handler
from actors.shared.config.agent import Agent
from actors.shared.config.fields.log_settings import set_logging
from supervision.actor import AskError
from supervision.protocol import FORK_SERVER, Done

_MOST = 100


async def page(handler: Handler) -> None:
    """The body is a whole number."""
    text = handler.request.body.decode("utf-8", "replace").strip()
    if not text.isascii() or not text.isdigit() or int(text) > _MOST:
        handler.refuse(400, f'failed to set logging.verbosity: "{text[:20]}" is no verbosity')
        return
    order = msgspec.structs.replace(set_logging(cast(Agent, handler.actor.context).config.logging), verbosity=int(text))
    try:
        await handler.actor.ask(FORK_SERVER, order, Done, timeout=ASK_SECONDS)
    except AskError as error:
        handler.refuse(500, f"the fork server: {error}")
        return
    await handler.finish(f"successfully set klog.logging.verbosity to {int(text)}")
