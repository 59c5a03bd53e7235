"""Ending containers: in which order, with how much grace. The plan is pure; a coroutine carries it out.

As the reference does: regular containers at the same time; sidecars after them, last one first; preStop hooks all
begin at once and their time is taken off the grace; at least two seconds are left for SIGTERM. What is needed stands in
the containers' annotations, so a pod that nobody remembers ends as well as any other.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence

import msgspec

from actors.pod_workers.executor.hooks import HookFailed, run_hook
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState, PodRuntime
from actors.shared.kube import names as known
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.container import ContainerPort, LifecycleHandler
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container, is_sidecar
from supervision.errors import UNREADABLE

_SECONDS = re.compile("[0-9]{1,9}")
MIN_GRACE_SECONDS = 2
DEFAULT_GRACE_SECONDS = 30


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """One container to end."""

    ran: Ran
    grace: int
    """Seconds for hook and SIGTERM together."""
    pre_stop: LifecycleHandler | None = None
    ports: list[ContainerPort] = []


def alive(runtime: PodRuntime) -> list[Ran]:
    """The containers that may still have a process."""
    return [ran for ran in runtime.containers if ran.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)]


def unborn(runtime: PodRuntime) -> list[Ran]:
    """The containers that were made and never started. A runtime does not stop these: they can only be removed."""
    return [ran for ran in runtime.containers if ran.state is ContainerState.CREATED]


def grace_of(ran: Ran, pod: Pod | None, override: int | None = None, probe: str = "") -> int:
    """Seconds a container has to end: an override, the API's deletion, the probe's own, the pod's, else 30."""
    if override is not None:
        return override
    annotated = ran.annotations.get(known.POD_DELETION_GRACE_PERIOD, "")
    if pod is not None:
        if pod.metadata.deletionGracePeriodSeconds is not None:
            return pod.metadata.deletionGracePeriodSeconds
        container = find_container(pod, ran.name)
        own = getattr(container, f"{probe}Probe", None) if container is not None and probe else None
        if own is not None and own.terminationGracePeriodSeconds is not None:
            return int(own.terminationGracePeriodSeconds)
        if pod.spec.terminationGracePeriodSeconds is not None:
            return pod.spec.terminationGracePeriodSeconds
    for text in (annotated, ran.annotations.get(known.POD_TERMINATION_GRACE_PERIOD, "")):
        if _SECONDS.fullmatch(text):
            return int(text)
    return DEFAULT_GRACE_SECONDS


def plan(ran: Ran, pod: Pod | None, override: int | None = None, probe: str = "") -> Ending:
    """How one container ends."""
    container = find_container(pod, ran.name) if pod is not None else None
    if container is not None:
        pre_stop, ports = container.lifecycle.preStop if container.lifecycle else None, container.ports
    else:
        pre_stop, ports = _annotated_hook(ran), _annotated_ports(ran)
    return Ending(ran=ran, grace=grace_of(ran, pod, override, probe), pre_stop=pre_stop, ports=ports)


def _annotated_hook(ran: Ran) -> LifecycleHandler | None:
    text = ran.annotations.get(known.CONTAINER_PRE_STOP_HANDLER, "")
    try:
        return decode(text.encode(), LifecycleHandler) if text else None
    except ObjectError:
        return None


def _annotated_ports(ran: Ran) -> list[ContainerPort]:
    try:
        return msgspec.json.decode(ran.annotations.get(known.CONTAINER_PORTS, "[]"), type=list[ContainerPort])
    except UNREADABLE:
        return []


def waves(pod: Pod | None, endings: Sequence[Ending]) -> list[list[Ending]]:
    """Groups that end one after the other: first all regular ones, then each sidecar, the last of the list first."""
    order = (
        [container.name for container in pod.spec.initContainers if is_sidecar(container)] if pod is not None else []
    )
    first = [ending for ending in endings if ending.ran.name not in order]
    rest = [[ending for ending in endings if ending.ran.name == name] for name in reversed(order)]
    return [wave for wave in (first, *rest) if wave]


async def end_all(
    client: CriClient,
    pod: Pod | None,
    endings: Sequence[Ending],
    ip: str,
    say: Callable[[str], None],
    begun: set[str] | None = None,
) -> list[CriError]:
    """End them in their waves. Answers what the runtime refused (tried again by the caller).

    `begun`: ids of the containers whose hook is not run again; those whose hook is run now are added.
    """
    began = time.monotonic()
    ran = begun if begun is not None else set()
    hooks = {ending.ran.id: asyncio.ensure_future(_pre_stop(client, ending, ip, say, ran)) for ending in endings}
    errors: list[CriError] = []
    try:
        for wave in waves(pod, endings):
            results = await asyncio.gather(*(_end(client, ending, hooks[ending.ran.id], began) for ending in wave))
            errors += [error for error in results if error is not None]
    finally:
        for hook in hooks.values():
            hook.cancel()
    return errors


async def _pre_stop(client: CriClient, ending: Ending, ip: str, say: Callable[[str], None], begun: set[str]) -> None:
    if ending.pre_stop is None or ending.grace <= 0 or ending.ran.state is not ContainerState.RUNNING:
        return
    if ending.ran.id in begun:
        return
    begun.add(ending.ran.id)
    try:
        await asyncio.wait_for(run_hook(client, ending.pre_stop, ending.ran.id, ip, ending.ports), ending.grace)
    except TimeoutError:
        say(f"preStop hook of {ending.ran.name} took longer than the grace period of {ending.grace} s")
    except Unavailable:
        begun.discard(ending.ran.id)  # the end itself fails as well, then, and is tried again with it
    except HookFailed as error:
        say(f"preStop hook of {ending.ran.name} failed: {error}")


async def _end(client: CriClient, ending: Ending, hook: asyncio.Future[None], began: float) -> CriError | None:
    await hook
    left = round(ending.grace - (time.monotonic() - began))
    try:
        await client.stop_container(ending.ran.id, max(MIN_GRACE_SECONDS, left))
    except CriError as error:
        return error
    return None
