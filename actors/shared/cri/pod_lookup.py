"""Reads the sandboxes and containers of one pod from the runtime."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TypeVar

import msgspec

from actors.shared.kube.names import POD_UID_LABEL

from .client import CriClient
from .errors import CriError, NotFound, RuntimeFailure, is_answer
from .model import CriContainer, PodRuntime, Sandbox

Status = TypeVar("Status", Sandbox, CriContainer)


class KnownIds(msgspec.Struct, frozen=True):
    """Sandboxes and containers that were there."""

    sandboxes: Collection[str] = ()
    containers: Mapping[str, str] = {}
    """ID of its sandbox by ID of the container."""


NOTHING_KNOWN = KnownIds()


def known_ids(runtime: PodRuntime | None) -> KnownIds:
    """Those of an earlier look."""
    if runtime is None:
        return NOTHING_KNOWN
    return KnownIds([one.id for one in runtime.sandboxes], {one.id: one.sandbox_id for one in runtime.containers})


async def look(
    client: CriClient, uid: str, known: KnownIds = NOTHING_KNOWN, clock: Callable[[], float] = time.monotonic
) -> PodRuntime:
    """List the sandboxes and containers, then get the status of each; those removed meanwhile are left out.

    `known`: what the lists lack of it is asked for, too, since a list alone ends no pod.
    `at` is the start time by `clock`: newer objects may be missing. Raises CriError, also if the runtime lists one,
    and says that it does not exist: the pod must neither be started again beside it nor count as ended.
    """
    at = clock()
    sandboxes, containers = await _listed(client, uid)
    places = {container.id: container.sandbox_id for container in containers}
    return await _ask(client, uid, [sandbox.id for sandbox in sandboxes], places, known, at)


async def look_at(
    client: CriClient,
    uid: str,
    sandboxes: Collection[str],
    containers: Mapping[str, str],
    known: KnownIds = NOTHING_KNOWN,
    clock: Callable[[], float] = time.monotonic,
) -> PodRuntime:
    """Like `look`, with listed IDs and without lists. `containers`: sandbox ID by container ID. Raises CriError."""
    return await _ask(client, uid, sandboxes, containers, known, clock())


def lacks(found: PodRuntime, known: KnownIds) -> bool:
    """Whether a known sandbox or container is not there."""
    return not ids(found) >= {*known.sandboxes, *known.containers}


def ids(runtime: PodRuntime) -> set[str]:
    """Those of its sandboxes and containers."""
    return {one.id for one in runtime.sandboxes} | {one.id for one in runtime.containers}


async def _ask(
    client: CriClient,
    uid: str,
    sandboxes: Collection[str],
    containers: Mapping[str, str],
    known: KnownIds,
    at: float,
) -> PodRuntime:
    """A sandbox that is not listed is asked for, too, if a container is in it."""
    listed = {*sandboxes, *containers, *containers.values()}
    containers = {**known.containers, **containers}
    sandboxes = dict.fromkeys((*sandboxes, *known.sandboxes, *containers.values()))
    boxes, found = await asyncio.gather(
        asyncio.gather(*(_status(client.pod_sandbox_status(one), one in listed) for one in sandboxes)),
        asyncio.gather(*(_status(client.container_status(one, box), one in listed) for one, box in containers.items())),
    )
    missing = listed - {one.id for one in (*boxes, *found) if one is not None}
    if missing:
        await _check_missing(client, uid, missing)
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


async def _status(call: Awaitable[Status], listed: bool) -> Status | None:
    """None if it does not exist. cri-dockerd says that by UNKNOWN, so that any answer but its status is the end of one
    that is not listed either."""
    try:
        return await call
    except CriError as error:
        if isinstance(error, NotFound) or (is_answer(error) and not listed):
            return None
        raise


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
