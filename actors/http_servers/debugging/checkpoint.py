"""/checkpoint/{namespace}/{pod}/{container} (KEP-2008): the runtime writes an archive below the root directory."""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import cast

import msgspec

from actors.http_servers.container_logs.log_file import LogRefused
from actors.http_servers.serving.handler import Handler, find_pod
from actors.http_servers.serving.runtime import client_of
from actors.shared.config.agent import Agent
from actors.shared.cri.errors import CriError
from actors.shared.kube.pod import PodStatus
from supervision.actor import AskError

_SECONDS = re.compile(r"[0-9]{1,9}")


async def page(handler: Handler, namespace: str, name: str, container: str) -> None:
    """The answer to POST."""
    timeout = handler.get_query_argument("timeout", "0")
    if not _SECONDS.fullmatch(timeout):
        handler.refuse(404, f"cannot parse value of timeout parameter: {timeout[:40]!r}")
        return
    try:
        pod, status = await find_pod(handler.actor, namespace, name)
    except LogRefused as error:
        handler.refuse(error.status, str(error))
        return
    except AskError as error:
        handler.refuse(503, f"status_manager: {error}")
        return
    found = running_id(status, container)
    if not found:
        handler.refuse(404, f"container {container} does not exist")
        return
    directory = cast(Agent, handler.actor.context).checkpoints_dir
    stamp = datetime.now().astimezone().isoformat(timespec="seconds")
    path = f"{directory}/checkpoint-{pod.metadata.name}_{pod.metadata.namespace}-{container}-{stamp}.tar"
    try:
        os.makedirs(directory, 0o700, exist_ok=True)
        await client_of(handler).checkpoint_container(found, path, int(timeout))
    except (CriError, OSError) as error:
        handler.refuse(500, f"checkpointing of {namespace}/{name}/{container} failed ({error})")
        return
    handler.set_header("Content-Type", "application/json")
    await handler.finish(msgspec.json.encode({"items": [path]}))


def running_id(status: PodStatus, container: str) -> str:
    """The runtime's id of the container that runs; '' when none does. Pure."""
    groups = (status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses)
    for group in groups:
        for one in group:
            if one.name == container and one.state.running is not None:
                return one.containerID.partition("://")[2]
    return ""
