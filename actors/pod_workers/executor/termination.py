"""Stops containers and sandboxes.

preStop hooks all begin at once and their time is taken off the grace; at least two seconds are left for SIGTERM. A hook
runs once, however often its container's termination is tried.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from actors.pod_workers.phases.effects import RestartAll, StopContainers, StopPod
from actors.pod_workers.phases.termination_plan import Termination, plan, waves
from actors.pod_workers.pod.results import PreStopBegun, PreStopUnreached, RuntimeTouched, TerminationAnnounced
from actors.pod_workers.pod.runtime import alive, created
from actors.pod_workers.pod.starts import AllRestarting
from actors.pod_workers.pod.state import Instance
from actors.shared.cri.client import CriClient
from actors.shared.cri.crash_loop import next_consecutive_restarts
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState, PodRuntime
from actors.shared.kube.pod import Pod

from .execution import Execution
from .hooks import HookFailed, PodIp, run_hook

MIN_GRACE_SECONDS = 2
CREATED_TRIES = 3
"""So often the removal of a container that was never started may fail; then the end of the pod goes on without it."""


class Observer(msgspec.Struct, frozen=True):
    """Who is told of preStop hooks."""

    begun: Callable[[str], None]
    """With the container's id, before the hook is run."""
    unreached: Callable[[str], None]
    """With the container's id: the runtime was away, the hook is to be run again."""
    failed: Callable[[str, str], None]
    """With the container's name, and why."""


async def terminate_all(
    client: CriClient, pod: Pod | None, terminations: Sequence[Termination], pod_ip: PodIp, observer: Observer
) -> list[CriError]:
    """Stop them in their waves. Answers what the runtime refused (tried again by the caller)."""
    began = time.monotonic()
    hooks = {one.ran.id: asyncio.ensure_future(_pre_stop(client, one, pod_ip, observer)) for one in terminations}
    errors: list[CriError] = []
    try:
        for wave in waves(pod, terminations):
            results = await asyncio.gather(*(_stop(client, one, hooks[one.ran.id], began) for one in wave))
            errors += [error for error in results if error is not None]
    finally:
        for hook in hooks.values():
            hook.cancel()
    return errors


async def _pre_stop(client: CriClient, one: Termination, pod_ip: PodIp, observer: Observer) -> None:
    if one.pre_stop is None or one.grace <= 0 or one.ran.state is not ContainerState.RUNNING:
        return
    observer.begun(one.ran.id)
    try:
        await asyncio.wait_for(run_hook(client, one.pre_stop, one.ran.id, pod_ip, one.ports), one.grace)
    except TimeoutError:
        observer.failed(one.ran.name, f"it took longer than the grace period of {one.grace} s")
    except Unavailable:
        observer.unreached(one.ran.id)  # the stop itself fails as well, then, and is tried again with it
    except HookFailed as error:
        observer.failed(one.ran.name, str(error))


async def _stop(client: CriClient, one: Termination, hook: asyncio.Future[None], began: float) -> CriError | None:
    await hook
    left = round(one.grace - (time.monotonic() - began))
    try:
        await client.stop_container(one.ran.id, max(MIN_GRACE_SECONDS, left))
    except CriError as error:
        return error
    return None


async def terminate(run: Execution, terminations: list[Termination]) -> None:
    """Stop containers of the pod. Raises CriError; EffectInterrupted when the pod is to end sooner than it was to: then
    it is planned anew."""
    grace, known = run.state.wanted.grace_seconds, run.state.instances
    todo = [
        msgspec.structs.replace(one, pre_stop=None) if known.get(one.ran.id, Instance()).pre_stop_begun else one
        for one in terminations
    ]
    observer = Observer(
        begun=lambda container_id: run.report(PreStopBegun(container_id)),
        unreached=lambda container_id: run.report(PreStopUnreached(container_id)),
        failed=lambda name, why: announce_hook(run, "PreStop", name, why),
    )
    stopping = terminate_all(run.services.client, run.state.wanted.pod, todo, run.pod_ip, observer)
    errors = await run.unless(lambda state: state.wanted.grace_seconds < grace, stopping)
    if errors:
        raise errors[0]


def announce_termination(run: Execution, ran: Ran, why: str) -> None:
    """Tell users, once, however often it is tried."""
    if not run.state.instances.get(ran.id, Instance()).termination_announced:
        run.report(TerminationAnnounced(ran.id))
        run.announce("Normal", "Killing", why, ran.name)


def announce_hook(run: Execution, kind: Literal["PreStop", "PostStart"], name: str, why: str) -> None:
    """Tell users that a hook failed, in the reference's fixed words: command and output of a hook may hold secrets."""
    run.services.actor.log.warning("pod %s: %s hook of %s failed: %s", run.state.label, kind, name, why)
    run.announce("Warning", f"Failed{kind}Hook", f"{kind}Hook failed", name)


async def stop_containers(run: Execution, effect: StopContainers) -> None:
    """Raises as `terminate` does."""
    for kill in effect.kills:
        announce_termination(run, kill.container, kill.why)
    await terminate(run, [plan(kill.container, run.pod, None, kill.probe) for kill in effect.kills])
    run.report(RuntimeTouched())


async def stop_pod(run: Execution, effect: StopPod) -> None:
    """Raises as `terminate` does."""
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    if effect.remove_created:
        for ran in alive(runtime):
            announce_termination(run, ran, f"Stopping container {ran.name}")
        await _remove_created(run, runtime)
    pod, grace = run.state.wanted.pod, run.state.wanted.ordered_grace
    await terminate(run, [plan(ran, pod, grace) for ran in alive(runtime)])
    # one that is not ready may still have its address and its host ports
    await asyncio.gather(*(run.services.client.stop_pod_sandbox(sandbox.id) for sandbox in runtime.sandboxes))


async def _remove_created(run: Execution, runtime: PodRuntime) -> None:
    """What is never removed is left to the release of the pod's cgroup. Raises CriError."""
    for ran in created(runtime):
        try:
            await run.services.client.remove_container(ran.id)
        except CriError as error:
            if run.state.retry.failures < CREATED_TRIES:
                raise
            text = "pod %s: container %s was created and is not removed yet: %s"
            run.services.actor.log.warning(text, run.state.label, ran.name, error)


async def restart_all(run: Execution, effect: RestartAll) -> None:
    """Raises as `terminate` does."""
    pod, sources, client = run.pod, effect.sources, run.services.client
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    own = [container.name for container in (*pod.spec.initContainers, *pod.spec.containers)]
    text = f"Container {sources[0].name} ended with {sources[0].exit_code}, which restarts all containers of the pod"
    run.announce("Normal", "Killing", text, sources[0].name)
    run.report(AllRestarting(own, text, {source.name: next_consecutive_restarts(source) for source in sources}))
    run.publish()  # the condition AllContainersRestarting, before it is over
    here = [ran for ran in runtime.containers if ran.name in own]
    await terminate(run, [plan(ran, pod, 0) for ran in alive(runtime) if ran.name in own])
    last = {source.id for source in sources}
    await asyncio.gather(*(client.remove_container(ran.id) for ran in here if ran.id not in last))
    await asyncio.gather(*(client.remove_container(source) for source in last))
    run.report(RuntimeTouched())
