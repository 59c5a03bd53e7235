"""Pods through the agent: from their manifests to containers that run, and from those until nothing is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from actors.shared.cri.client import CriClient

from .baseline import Times
from .node import Node, NotInTime
from .pods import manifest

POLL_SECONDS = 0.02
"""Between two looks at the runtime: seldom enough not to be felt."""
DEADLINE_SECONDS = 120.0


async def pods_through(node: Node, pods: int) -> Times:
    """Start so many at once and remove them again. Each one's time counts from its own manifest."""
    names = await start_pods(node, pods)
    gone = await remove_pods(node, list(names))
    return Times(sorted(names.values()), gone)


async def start_pods(node: Node, pods: int) -> dict[str, float]:
    """Seconds from its manifest to its container's start, by name of the manifest. Raises NotInTime."""
    started_at = time.time()
    written = {f"pod{number}": 0.0 for number in range(pods)}
    texts = {name: manifest(name) for name in written}
    for name, text in texts.items():
        written[name] = node.write(name, text)
    client = CriClient(node.runtime.endpoint)
    try:
        await _until(lambda: _running(client), pods, "containers running")
        started = {}
        for container in await client.list_containers():
            status = await client.container_status(container.id)
            started[container.pod_name.removesuffix("-bench")] = status.started_ns / 1e9
    finally:
        await client.close()
    first = min(written.values())
    assert started_at <= first
    return {name: started[name] - written[name] for name in written}


async def remove_pods(node: Node, names: list[str]) -> list[float]:
    """Withdraw the manifests; seconds until each pod's sandbox was gone and, the last, every trace of it."""
    client = CriClient(node.runtime.endpoint)
    started_at = time.time()
    gone: dict[str, float] = {}
    try:
        for name in names:
            node.withdraw(name)
        while len(gone) < len(names):
            there = {sandbox.pod_name.removesuffix("-bench") for sandbox in await client.list_pod_sandboxes()}
            gone |= {name: time.time() - started_at for name in names if name not in there and name not in gone}
            if time.time() - started_at > DEADLINE_SECONDS:
                raise NotInTime(f"{len(there)} pods are still there\n{node.last_words()}")
            await asyncio.sleep(POLL_SECONDS)
    finally:
        await client.close()
    while traces := node.traces():
        if time.time() - started_at > DEADLINE_SECONDS:
            raise NotInTime(f"traces of pods are still there: {sorted(traces)[:3]}\n{node.last_words()}")
        await asyncio.sleep(POLL_SECONDS)
    times = sorted(gone.values())
    times[-1] = time.time() - started_at
    return times


async def _running(client: CriClient) -> int:
    return sum(container.state == "running" for container in await client.list_containers())


async def _until(count: Callable[[], Awaitable[int]], wanted: int, what: str) -> None:
    end = time.time() + DEADLINE_SECONDS
    while (found := await count()) < wanted:
        if time.time() > end:
            raise NotInTime(f"{found} of {wanted} {what}")
        await asyncio.sleep(POLL_SECONDS)
