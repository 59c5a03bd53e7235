"""Reads the sandboxes and containers of one pod from the runtime."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping

from actors.shared.kube.names import POD_UID_LABEL

from .client import CriClient
from .errors import NotFound
from .model import CriContainer, PodRuntime, Sandbox


async def look(client: CriClient, uid: str, clock: Callable[[], float] = time.monotonic) -> PodRuntime:
    """List the sandboxes and containers, then get the status of each; those removed meanwhile are left out.

    `at` is the start time by `clock`: newer objects may be missing. Raises CriError.
    """
    at, labels = clock(), {POD_UID_LABEL: uid}
    sandboxes, containers = await asyncio.gather(client.list_pod_sandboxes(labels), client.list_containers(labels))
    places = {container.id: container.sandbox_id for container in containers}
    return await _ask(client, uid, [sandbox.id for sandbox in sandboxes], places, at)


async def look_at(
    client: CriClient,
    uid: str,
    sandboxes: Iterable[str],
    containers: Mapping[str, str],
    clock: Callable[[], float] = time.monotonic,
) -> PodRuntime:
    """Like `look`, with known IDs and without lists. `containers`: sandbox ID by container ID. Raises CriError."""
    return await _ask(client, uid, sandboxes, containers, clock())


async def _ask(
    client: CriClient, uid: str, sandboxes: Iterable[str], containers: Mapping[str, str], at: float
) -> PodRuntime:
    boxes, found = await asyncio.gather(
        asyncio.gather(*(_sandbox(client, sandbox) for sandbox in sandboxes)),
        asyncio.gather(*(_container(client, container, sandbox) for container, sandbox in containers.items())),
    )
    return assemble(uid, [s for s in boxes if s is not None], [c for c in found if c is not None], at)


async def _sandbox(client: CriClient, sandbox: str) -> Sandbox | None:
    try:
        return await client.pod_sandbox_status(sandbox)
    except NotFound:
        return None


async def _container(client: CriClient, container: str, sandbox: str) -> CriContainer | None:
    try:
        return await client.container_status(container, sandbox)
    except NotFound:
        return None


def assemble(uid: str, sandboxes: Iterable[Sandbox], containers: Iterable[CriContainer], at: float) -> PodRuntime:
    """The pod's sandboxes and containers, newest first: by attempt, then by time, because the clock may be set back."""
    boxes = sorted(sandboxes, key=lambda sandbox: (sandbox.attempt, sandbox.created_ns), reverse=True)
    found = sorted(containers, key=lambda container: (container.restart_count, container.created_ns), reverse=True)
    name, namespace = "", ""
    if boxes:
        name, namespace = boxes[0].pod_name, boxes[0].pod_namespace
    elif found:
        name, namespace = found[0].pod_name, found[0].pod_namespace
    return PodRuntime(uid=uid, name=name, namespace=namespace, sandboxes=boxes, containers=found, at=at)
