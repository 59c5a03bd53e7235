"""Stops containers over CRI, each after its preStop hook and in its turn.

All preStop hooks start at once. A container is stopped with the rest of its grace period, at least two seconds.

One shim kills all containers of a pod. When more than 32 ends of processes wait there, the end of `runc kill` may be
behind them, and the shim passes on one end a second until it is through (containerd 1.6: a pod of 400 containers was
not gone after ten minutes). So only AT_ONCE stops of a pod begin together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from actors.pod_workers.phases.termination_plan import Termination, waits_for
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, DeadlineExceeded, Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.pod import Pod
from supervision.time_scale import scaled

from .hooks import HookFailed, PodIp, run_hook, unobserved

MIN_GRACE_SECONDS = 2
AT_ONCE = 10
BEGINNING_SECONDS = 1.0
"""A stop counts for AT_ONCE until its container has ended, or for this long: then the signal has been sent."""
HOOK_SECONDS = 1.0
"""How long a hook that outlived its container may take to report its error. A command ends with its container."""


class PreStopObserver(msgspec.Struct, frozen=True):
    """Receives the events of preStop hooks."""

    started: Callable[[str], None]
    """Called with the container's id before the hook runs."""
    unreached: Callable[[str], None]
    """Called with the container's id: the runtime was unavailable, so the hook runs again."""
    ended: Callable[[CriContainer], None]
    """Called when the hook has ended, with or without an error."""
    failed: Callable[[str, str], None]
    """Called with the container's name and the error."""
    on_fallback: Callable[[str], None] = unobserved
    """Called with the host that answered HTTPS with HTTP."""


class StopFailure(msgspec.Struct, frozen=True):
    """The runtime has not stopped a container or sandbox."""

    id: str
    text: str
    """In the form of the kubelet's synchronization errors."""
    hangs: bool
    """The call's deadline has passed, long after the grace period."""


async def terminate_all(
    client: CriClient, pod: Pod | None, terminations: Sequence[Termination], pod_ip: PodIp, observer: PreStopObserver
) -> list[StopFailure]:
    """Stop the containers, each in its turn. Returns the failures, which the caller retries.

    Raises an error of a hook that is no failure of it, after the stops."""
    ended = {one.instance.id: asyncio.Event() for one in terminations}
    places = asyncio.Semaphore(AT_ONCE)
    before = waits_for(pod, terminations)
    hooks = {one.instance.id: asyncio.ensure_future(_pre_stop(client, one, pod_ip, observer)) for one in terminations}
    try:
        stops = [
            _stop(
                client,
                one,
                hooks[one.instance.id],
                [ended[other] for other in before[one.instance.id]],
                ended[one.instance.id],
                places,
            )
            for one in terminations
        ]
        failures = await asyncio.gather(*stops)
        late = [
            hooks[one.instance.id] for one in terminations if one.pre_stop is not None and one.pre_stop.sleep is None
        ]
        if any(not hook.done() for hook in late):
            await asyncio.wait(late, timeout=scaled(HOOK_SECONDS))
        for hook in hooks.values():
            if hook.done():
                hook.result()  # raises what is neither a failure of the hook nor of the runtime
    finally:
        for hook in hooks.values():
            hook.cancel()
    return [failure for failure in failures if failure is not None]


async def _pre_stop(client: CriClient, one: Termination, pod_ip: PodIp, observer: PreStopObserver) -> None:
    if one.pre_stop is None or one.grace <= 0 or one.instance.state is not CriContainerState.RUNNING:
        return
    observer.started(one.instance.id)
    try:
        await run_hook(client, one.pre_stop, one.instance.id, pod_ip, one.ports, observer.on_fallback, one.grace)
    except Unavailable:
        observer.unreached(one.instance.id)  # the stop then fails too, and both are retried
        return
    except HookFailed as error:
        observer.failed(one.instance.name, str(error))
    observer.ended(one.instance)


async def _stop(
    client: CriClient,
    one: Termination,
    hook: asyncio.Future[None],
    before: list[asyncio.Event],
    ended: asyncio.Event,
    places: asyncio.Semaphore,
) -> StopFailure | None:
    """Stop a container after its hook and in its turn, but no later than its grace period allows. Returns the
    failure.
    """
    left = one.grace - await _seconds(hook, one.grace)
    for other in before:
        stopped = asyncio.ensure_future(other.wait())
        try:
            left -= await _seconds(stopped, left)
        finally:
            stopped.cancel()
    try:
        async with _place(places):
            await client.stop_container(one.instance.id, max(MIN_GRACE_SECONDS, left))
    except CriError as error:
        return stop_failure(one.instance.id, "KillContainer", one.instance.name, error)
    ended.set()
    return None


@asynccontextmanager
async def _place(places: asyncio.Semaphore) -> AsyncIterator[None]:
    """Wait for a place, and keep it while the block runs, at most for BEGINNING_SECONDS."""
    await places.acquire()
    timer = asyncio.get_running_loop().call_later(scaled(BEGINNING_SECONDS), places.release)
    try:
        yield
    finally:
        if timer.when() > asyncio.get_running_loop().time():  # else it has released the place, or is about to
            timer.cancel()
            places.release()


def stop_failure(which: str, action: str, target: str, error: CriError) -> StopFailure:
    """`which`: the id; `target`: its name for users."""
    why = error.rpc_text.replace("\\", "\\\\").replace('"', '\\"')
    text = f'failed to "{action}" for "{target}" with {action}Error: "{why}"'
    return StopFailure(which, text, hangs=isinstance(error, DeadlineExceeded))


async def _seconds(work: asyncio.Future[Any], most: int) -> int:
    """Wait at most this long. Returns the whole seconds that it took."""
    started_at = time.monotonic()
    await asyncio.wait({work}, timeout=max(0, most))
    return int(time.monotonic() - started_at)
