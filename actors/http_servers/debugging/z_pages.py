"""/flagz and /statusz (KEP-4828, KEP-4827): what the agent was started with and what it is, for people."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from actors.config_controller.messages import CONFIG_CONTROLLER, Flagz, GetFlagz
from actors.http_servers.serving.handler import ASK_SECONDS, Handler, find_tree
from supervision.actor import AskError

WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only.\n"
)


async def flagz(handler: Handler) -> None:
    """Each flag with its effective value."""
    found = await _flagz(handler)
    if found is not None:
        lines = [f"{name}={value}" for name, value in sorted(found.flags.items())]
        await handler.finish("\nkubelet flagz\n" + WARNING + "\n" + "\n".join(lines) + "\n")


async def statusz(handler: Handler) -> None:
    """Version, uptime and paths."""
    found = await _flagz(handler)
    if found is None:
        return
    tree = await find_tree(handler.actor)
    seconds = int(tree.uptime) if tree is not None else 0
    started = datetime.fromtimestamp(time.time() - seconds, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    lines = [
        f"Started: {started}",
        f"Up: {seconds // 3600} hr {seconds % 3600 // 60:02d} min {seconds % 60:02d} sec",
        f"Binary version: {found.version}",
        "Paths: /configz /debug/pprof /flagz /healthz /metrics /pods /stats/summary",
    ]
    await handler.finish("\nkubelet statusz\n" + WARNING + "\n" + "\n".join(lines) + "\n")


async def _flagz(handler: Handler) -> Flagz | None:
    try:
        return await handler.actor.ask(CONFIG_CONTROLLER, GetFlagz(), Flagz, timeout=ASK_SECONDS)
    except AskError as error:
        handler.refuse(503, f"config_controller: {error}")
        return None
