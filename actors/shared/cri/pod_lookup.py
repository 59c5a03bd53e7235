"""Reads the sandboxes and containers of one pod from the runtime."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from actors.shared.kube.names import POD_UID_LABEL

from .client import CriClient
from .errors import NotFound, RuntimeFailure
from .model import CriContainer, PodRuntime, Sandbox


async def look(client: CriClient, uid: str, clock: Callable[[], float] = time.monotonic) -> PodRuntime:
    """List the sandboxes and containers, then get the status of each; those removed meanwhile are left out.

    `at` is the start time by `clock`: newer objects may be missing. Raises CriError, also if the runtime lists one,
    and says that it does not exist: the pod must neither be started again beside it nor count as ended.
    """
    at = clock()
    sandboxes, containers = await _listed(client, uid)
    places = {container.id: container.sandbox_id for container in containers}
    return await _ask(client, uid, [sandbox.id for sandbox in sandboxes], places, at)


async def look_at(
    client: CriClient,
    uid: str,
    sandboxes: Collection[str],
    containers: Mapping[str, str],
    clock: Callable[[], float] = time.monotonic,
) -> PodRuntime:
    """Like `look`, with known IDs and without lists. `containers`: sandbox ID by container ID. Raises CriError."""
    return await _ask(client, uid, sandboxes, containers, clock())


async def _ask(
    client: CriClient, uid: str, sandboxes: Collection[str], containers: Mapping[str, str], at: float
) -> PodRuntime:
    """A sandbox that is not listed is asked for, too, if a container is in it: a list alone does not end a pod."""
    sandboxes = dict.fromkeys((*sandboxes, *containers.values()))
    boxes, found = await asyncio.gather(
        asyncio.gather(*(_sandbox(client, sandbox) for sandbox in sandboxes)),
        asyncio.gather(*(_container(client, container, sandbox) for container, sandbox in containers.items())),
    )
    if None in boxes or None in found:
        await _check_missing(client, uid, {*sandboxes, *containers} - {one.id for one in (*boxes, *found) if one})
    return assemble(uid, [s for s in boxes if s is not None], [c for c in found if c is not None], at)


async def _listed(client: CriClient, uid: str) -> tuple[list[Sandbox], list[CriContainer]]:
    labels = {POD_UID_LABEL: uid}
    return await asyncio.gather(client.list_pod_sandboxes(labels), client.list_containers(labels))


async def _check_missing(client: CriClient, uid: str, missing: set[str]) -> None:
    """Raises RuntimeFailure if one of which the runtime has no status is still listed."""
    for listed in await _listed(client, uid):
        for one in listed:
            if one.id in missing:
                text = f"the runtime lists {one.id}, and says that it does not exist"
                raise RuntimeFailure("status", "UNKNOWN", text)


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
