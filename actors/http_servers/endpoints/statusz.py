"""/statusz: version, uptime, and the paths of pages to read (KEP-4827)."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from actors.config_controller.messages import CONFIG_CONTROLLER, GetFlagz
from actors.http_servers.exposition.scrape import find_tree
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.z_page import negotiated, text_page
from actors.shared.config.version import MAJOR, MINOR
from actors.shared.kube.times import rfc3339


async def get(handler: ServerHandler) -> None:
    form = negotiated(handler.request.headers.get("Accept", ""), "Statusz")
    found = await handler.ask(CONFIG_CONTROLLER, GetFlagz())
    tree = await find_tree(handler.state.actor)
    seconds = int(tree.uptime) if tree is not None else 0
    started = datetime.fromtimestamp(time.time() - seconds, UTC)
    paths, version = sorted(handler.state.pages), found.version.removeprefix("v")
    if form:
        fields = {
            "startTime": rfc3339(started.timestamp()),
            "uptimeSeconds": seconds,
            "binaryVersion": version,
            "emulationVersion": f"{MAJOR}.{MINOR}",
            "paths": paths,
        }
        handler.finish_form(form, fields)
        return
    lines = [
        f"Started: {started.strftime('%a %b %d %H:%M:%S UTC %Y')}",
        f"Up: {seconds // 3600} hr {seconds % 3600 // 60:02d} min {seconds % 60:02d} sec",
        f"Binary version: {version}",
        f"Emulation version: {MAJOR}.{MINOR}",
        f"Paths: {' '.join(paths)}",
    ]
    await handler.finish(text_page("kubelet statusz", lines))


ENDPOINT = Endpoint(
    paths=("/statusz",),
    answers={"GET": get},
    subresources=("statusz",),
    gate="ComponentStatusz",
    exact=True,
    heads=True,
)
