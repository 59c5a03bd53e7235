"""/stats/summary[?only_cpu_and_memory=true]: what the node and its pods use, as JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import Handler
from actors.http_servers.serving.refused import Refused
from actors.http_servers.usage.sample import FRESH_SECONDS, KEPT_SECONDS
from actors.shared.cri.errors import CriError

_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")


async def get(handler: Handler) -> None:
    from actors.http_servers.usage.summary import summary

    small = handler.get_query_argument("only_cpu_and_memory", "") in _TRUE
    most = FRESH_SECONDS if small else KEPT_SECONDS
    try:
        sample = await handler.state.collector.sample(most, disks=not small)
    except CriError as error:
        raise Refused(500, f"Internal Error: the runtime does not tell its pods: {error}") from None
    found = summary(sample, handler.state.agent.node_name, only_cpu_and_memory=small)
    handler.finish_json(msgspec.json.encode(found))


ENDPOINT = Endpoint(
    paths=("/stats/summary",),
    answers={"GET": get},
    subresources=("stats",),
    permission_prefix="/stats",
    on_read_only_server=True,
)
