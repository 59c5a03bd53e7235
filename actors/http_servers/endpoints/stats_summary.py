"""/stats/summary[?only_cpu_and_memory=true]: the usage of the node and its pods, as JSON."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from actors.http_servers.exposition.scrape import find_tree
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.usage.sample import CACHED_SECONDS, FRESH_SECONDS
from actors.shared.cri.errors import CriError

_TRUE: Final = ["true"]
"""As in the kubelet, any other value, and a second one, are ignored."""


async def get(handler: ServerHandler) -> None:
    from actors.http_servers.usage.summary import summary

    small = handler.get_query_arguments("only_cpu_and_memory", strip=False) == _TRUE
    most = FRESH_SECONDS if small else CACHED_SECONDS
    try:
        sample = await handler.state.collector.sample(most, disks=not small)
    except CriError as error:
        raise HttpError(500, f"Internal Error: the runtime does not list its pods: {error}") from None
    processes = {} if small else handler.state.collector.process_count(sample)
    tree = await find_tree(handler.state.actor)
    started = time.time() - tree.uptime if tree is not None else 0.0
    node = handler.state.agent.node_name
    found = summary(sample, node, processes, agent_started=started, only_cpu_and_memory=small)
    handler.finish_json(msgspec.json.encode(found))


ENDPOINT = Endpoint(
    paths=("/stats/summary",),
    answers={"GET": get, "POST": get},
    subresources=("stats",),
    permission_prefix="/stats",
    on_read_only_server=True,
)
