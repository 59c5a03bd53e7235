"""The pods of a node whose agent does not answer: as its runtime says, else as its files say. The directories, and the
runtime, are those of the agent's last start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from actors.shared.config.endpoints import socket_of
from actors.shared.config.paths import state_dir_of
from actors.shared.config.start import start_records
from supervision.cli.command import CommandError

from .node_pods import NodePods, Object, of_runtime


def pods_without_agent(root_dir: str, error: CommandError, seconds: float) -> NodePods:
    """The pods that have a directory below the root directory. `seconds`: how long the runtime has to answer.

    Raises `error`, why the agent was not asked, if nothing is known here of an agent or its pods are another's."""
    root_dir = os.path.abspath(root_dir)
    start = start_records.last_of(state_dir_of(root_dir))
    if start is None or start.handed_over or start.root_dir != root_dir:
        raise error
    uids = _uids(root_dir)
    found, says = [], "the runtime has"
    if start.managed_root and not os.path.exists(socket_of(start.runtime_endpoint)):
        says = "files say: the containerd of the agent ended with it, containers go on"
    elif uids:
        try:
            found = asyncio.run(_in_runtime(start.runtime_endpoint, uids, seconds))
        except _NoAnswer as silence:
            says = f"files say: {silence}"
    missing = {*uids} - {pod["metadata"]["uid"] for pod in found}
    if missing:
        from .pods_on_disk import pods_on_disk

        found += pods_on_disk(start, sorted(missing))
    return NodePods(found, [], [str(error), f"what follows is what {says}"], by_runtime=True)


class _NoAnswer(Exception):
    """The runtime does not say which pods it has."""


def _uids(root_dir: str) -> list[str]:
    return sorted(one.name for one in Path(root_dir, "pods").glob("*") if one.is_dir())


async def _in_runtime(endpoint: str, uids: Sequence[str], seconds: float) -> list[Object]:
    """Raises _NoAnswer."""
    from actors.shared.cri.client import CriClient
    from actors.shared.cri.errors import CriError, EndpointError
    from actors.shared.cri.pod_lookup import look

    try:
        client = CriClient(endpoint)
    except EndpointError as error:
        raise _NoAnswer(str(error)) from None
    try:
        async with asyncio.timeout(seconds):
            seen = await asyncio.gather(*(look(client, uid) for uid in uids))
    except CriError as error:
        raise _NoAnswer(str(error)) from None
    except TimeoutError:
        raise _NoAnswer(f"{endpoint} has not answered for {seconds:.0f} s") from None
    finally:
        await client.close()
    return [of_runtime(pod) for pod in seen if pod.sandboxes]
