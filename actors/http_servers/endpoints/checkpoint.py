"""/checkpoint/{namespace}/{pod}/{container} (KEP-2008): the runtime writes an archive below the root directory."""

from __future__ import annotations

import os
import re
from datetime import datetime

import msgspec

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.pods import find_pod, running_container
from actors.shared.cri.errors import CriError

_SECONDS = re.compile(r"[0-9]{1,9}")


async def post(handler: ServerHandler, namespace: str, pod: str, container: str) -> None:
    timeout = handler.get_query_argument("timeout", "0")
    if not _SECONDS.fullmatch(timeout):
        raise HttpError(404, f"cannot parse value of timeout parameter: {timeout[:40]!r}")
    found = await find_pod(handler, namespace, pod)
    if found is None:
        raise HttpError(404, f'pod "{pod}" does not exist')
    container_id = running_container(found.status, container)
    if not container_id:
        raise HttpError(404, f"container {container} does not exist")
    directory, metadata = handler.state.agent.checkpoints_dir, found.pod.metadata
    stamp = datetime.now().astimezone().isoformat(timespec="seconds")
    path = f"{directory}/checkpoint-{metadata.name}_{metadata.namespace}-{container}-{stamp}.tar"
    try:
        os.makedirs(directory, 0o700, exist_ok=True)
        await handler.state.runtime.checkpoint_container(container_id, path, int(timeout))
    except (CriError, OSError) as error:
        why = error.rpc_text if isinstance(error, CriError) else error
        raise HttpError(500, f"checkpointing of {namespace}/{pod}/{container} failed ({why})") from None
    handler.finish_json(msgspec.json.encode({"items": [path]}))


ENDPOINT = Endpoint(
    paths=("/checkpoint/{namespace}/{pod}/{container}",),
    answers={"POST": post},
    subresources=("checkpoint",),
    gate="ContainerCheckpoint",
)
