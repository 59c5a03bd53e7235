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
from actors.shared.kube.pods import find_container

_SECONDS = re.compile(r"[0-9]{1,9}")


async def post(handler: ServerHandler, namespace: str, pod: str, container: str) -> None:
    found = await find_pod(handler, namespace, pod)
    if found is None:
        raise HttpError(404, "pod does not exist")
    if find_container(found.pod, container) is None:
        raise HttpError(404, f"container {container} does not exist")
    timeout = handler.get_query_argument("timeout", "0")
    if not _SECONDS.fullmatch(timeout):
        raise HttpError(404, "cannot parse value of timeout parameter")
    failed = f"checkpointing of {namespace}/{pod}/{container} failed"
    container_id = running_container(found.status, container)
    if not container_id:
        raise HttpError(500, f"{failed} (container {container} not found)")
    directory, metadata = handler.state.agent.checkpoints_dir, found.pod.metadata
    name = f"checkpoint-{metadata.name}_{metadata.namespace}-{container}-{stamp(datetime.now().astimezone())}.tar"
    path = f"{directory}/{name}"
    try:
        os.makedirs(directory, 0o700, exist_ok=True)
        await handler.state.runtime.checkpoint_container(container_id, path, int(timeout))
    except (CriError, OSError) as error:
        why = error.rpc_text if isinstance(error, CriError) else error
        raise HttpError(500, f"{failed} ({why})") from None
    handler.finish_json(msgspec.json.encode({"items": [path]}))


def stamp(when: datetime) -> str:
    """RFC 3339 as Go writes it: UTC is Z."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")


ENDPOINT = Endpoint(
    paths=("/checkpoint/{namespace}/{pod}/{container}",),
    answers={"POST": post},
    subresources=("checkpoint",),
    gate="ContainerCheckpoint",
)
