"""A page's way to the runtime: one connection for each server, opened by the first who needs it."""

from __future__ import annotations

from typing import cast

from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient

from .handler import Handler


def client_of(handler: Handler) -> CriClient:
    """That of the streams, where there are streams."""
    settings = handler.application.settings
    shared = settings.get("runtime")
    if shared is not None:
        return cast(CriClient, shared.client)
    found = settings.get("cri")
    if found is None:
        agent = cast(Agent, handler.actor.context)
        found = settings["cri"] = CriClient(
            agent.runtime_endpoint, request_seconds=agent.config.runtimeRequestTimeout, tracer=settings["tracer"]
        )
    return cast(CriClient, found)
