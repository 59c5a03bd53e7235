"""Stops containers and sandboxes.

All preStop hooks start at once. A container is stopped after its hook and in its turn, with the rest of its grace
period, at least two seconds. A hook runs once, however often the termination is retried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from actors.pod_workers.phases.effects import RestartAll, StopContainers, StopPod
from actors.pod_workers.phases.termination_plan import Termination, plan, waits_for
from actors.pod_workers.pod.results import (
    ContainersStopped,
    PreStopBegun,
    PreStopUnreached,
    RuntimeTouched,
    TerminationAnnounced,
)
from actors.pod_workers.pod.runtime import alive, created
from actors.pod_workers.pod.starts import AllRestarting
from actors.pod_workers.pod.state import ContainerInstance
from actors.shared.cri.client import CriClient
from actors.shared.cri.crash_loop import next_consecutive_restarts
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.pod import Pod
from actors.shared.paced import pieces

from . import instance_marks
from .execution import Execution
from .hooks import HookFailed, PodIp, run_hook, unobserved
from .unlisted import refuse_unlisted_remains

MIN_GRACE_SECONDS = 2
LEAST_GRACE_SECONDS = 1
"""The least grace period, in seconds, of the containers of a pod that ends, so that their hooks can begin, also when a
pod with a finalizer is deleted by force."""
_AT_ONCE = 50
"""The number of containers that are announced or planned before other tasks run."""
CREATED_TRIES = 3
"""The number of failed removals of a never-started container before the pod's termination continues without it."""


class PreStopObserver(msgspec.Struct, frozen=True):
    """Receives the events of preStop hooks."""

    begun: Callable[[str], None]
    """Called with the container's id before the hook runs."""
    unreached: Callable[[str], None]
    """Called with the container's id: the runtime was unavailable, so the hook runs again."""
    ended: Callable[[CriContainer], None]
    """Called when the hook has ended, with or without an error."""
    failed: Callable[[str, str], None]
    """Called with the container's name and the error."""
    on_fallback: Callable[[str], None] = unobserved
    """Called with the host that answered HTTPS with HTTP."""


class Unstopped(CriError):
    """The runtime has not stopped every container or sandbox; the text has the kubelet's message for each."""

    def __init__(self, failures: Sequence[str]) -> None:
        text = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        super().__init__("StopContainer", "UNKNOWN", text)
        self.failures = tuple(failures)

    def __str__(self) -> str:
        return self.details


async def terminate_all(
    client: CriClient, pod: Pod | None, terminations: Sequence[Termination], pod_ip: PodIp, observer: PreStopObserver
) -> list[str]:
    """Stop the containers, each in its turn. Returns the failures, which the caller retries."""
    ended = {one.ran.id: asyncio.Event() for one in terminations}
    before = waits_for(pod, terminations)
    hooks = {one.ran.id: asyncio.ensure_future(_pre_stop(client, one, pod_ip, observer)) for one in terminations}
    try:
        stops = [
            _stop(client, one, hooks[one.ran.id], [ended[other] for other in before[one.ran.id]], ended[one.ran.id])
            for one in terminations
        ]
        failures = await asyncio.gather(*stops)
        for one in terminations:
            if one.pre_stop is not None and one.pre_stop.sleep is None and not hooks[one.ran.id].done():
                observer.failed(one.ran.name, "its container was stopped before it had ended")
    finally:
        for hook in hooks.values():
            hook.cancel()
    return [failure for failure in failures if failure]


async def _pre_stop(client: CriClient, one: Termination, pod_ip: PodIp, observer: PreStopObserver) -> None:
    if one.pre_stop is None or one.grace <= 0 or one.ran.state is not CriContainerState.RUNNING:
        return
    observer.begun(one.ran.id)
    try:
        await run_hook(client, one.pre_stop, one.ran.id, pod_ip, one.ports, observer.on_fallback)
    except Unavailable:
        observer.unreached(one.ran.id)  # the stop then fails too, and both are retried
        return
    except HookFailed as error:
        observer.failed(one.ran.name, str(error))
    observer.ended(one.ran)


async def _stop(
    client: CriClient, one: Termination, hook: asyncio.Future[None], before: list[asyncio.Event], ended: asyncio.Event
) -> str:
    """Stop a container after its hook and in its turn, but no later than its grace period allows. Returns '' or the
    failure.
    """
    left = one.grace - await _seconds(hook, one.grace)
    for other in before:
        turn = asyncio.ensure_future(other.wait())
        try:
            left -= await _seconds(turn, left)
        finally:
            turn.cancel()
    try:
        await client.stop_container(one.ran.id, max(MIN_GRACE_SECONDS, left))
    except CriError as error:
        return _failure("KillContainer", one.ran.name, error)
    ended.set()
    return ""


def _failure(action: str, target: str, error: CriError) -> str:
    """A failure, in the form of the kubelet's synchronization errors."""
    why = error.rpc_text.replace("\\", "\\\\").replace('"', '\\"')
    return f'failed to "{action}" for "{target}" with {action}Error: "{why}"'


async def _seconds(work: asyncio.Future[Any], most: int) -> int:
    """Wait at most this long. Returns the whole seconds that it took."""
    began = time.monotonic()
    await asyncio.wait({work}, timeout=max(0, most))
    return int(time.monotonic() - began)


async def terminate(run: Execution, terminations: list[Termination]) -> None:
    """Stop containers of the pod. Raises Unstopped; EffectInterrupted when the grace period is shortened, for a new
    plan.
    """
    grace, known, services = run.state.wanted.grace_seconds, run.state.instances, run.services
    todo = [
        msgspec.structs.replace(one, pre_stop=None)
        if known.get(one.ran.id, ContainerInstance()).pre_stop_begun
        else one
        for one in terminations
    ]
    observer = PreStopObserver(
        begun=lambda container_id: run.report(PreStopBegun(container_id)),
        unreached=lambda container_id: run.report(PreStopUnreached(container_id)),
        ended=lambda ran: instance_marks.pre_stop_ended(services.actor, ran, services.agent.pod_dir(run.state.uid)),
        failed=lambda name, why: announce_hook(run, "PreStop", name, why),
        on_fallback=announce_fallback(run),
    )
    stopping = terminate_all(services.client, run.state.wanted.pod, todo, run.pod_ip, observer)
    failures = await run.unless(lambda state: state.wanted.grace_seconds < grace, stopping)
    if failures:
        raise Unstopped(failures)


def announce_termination(run: Execution, ran: CriContainer, why: str) -> None:
    """Emit the event once, however often the termination is retried, and by whichever worker."""
    if not run.state.instances.get(ran.id, ContainerInstance()).termination_announced:
        run.report(TerminationAnnounced(ran.id))
        run.announce("Normal", "Killing", why, ran.name, instance=ran.id)


def announce_fallback(run: Execution) -> Callable[[str], None]:
    """A function that counts and announces that a hook was repeated over HTTP."""

    def announce(host: str) -> None:
        text = f"request to HTTPS lifecycle hook {host} got HTTP response, retry with HTTP succeeded"
        run.announce("Warning", "LifecycleHTTPFallback", text)
        run.services.actor.metrics.count("kubelet_lifecycle_handler_http_fallbacks_total")

    return announce


def announce_hook(run: Execution, kind: Literal["PreStop", "PostStart"], name: str, why: str) -> None:
    """Emit the kubelet's fixed event for a failed hook: its command and output may contain secrets."""
    run.services.actor.log.warning("pod %s: %s hook of %s failed: %s", run.state.label, kind, name, why)
    run.announce("Warning", f"Failed{kind}Hook", f"{kind}Hook failed", name)


async def stop_containers(run: Execution, effect: StopContainers) -> None:
    """Raises as `terminate` does."""
    for kill in effect.kills:
        announce_termination(run, kill.container, kill.why)
    await terminate(run, [plan(kill.container, run.pod, None, kill.probe) for kill in effect.kills])
    run.report(ContainersStopped([kill.container.id for kill in effect.kills]))
    run.report(RuntimeTouched())


async def stop_pod(run: Execution, effect: StopPod) -> None:
    """Raises as `terminate` does."""
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    async for some in pieces(alive(runtime), _AT_ONCE):
        for ran in some:
            announce_termination(run, ran, f"Stopping container {ran.name}")
    if effect.remove_created:
        await _remove_created(run, runtime)
    least = LEAST_GRACE_SECONDS if effect.ends_pod else 0
    failures = [*await _stop_containers(run, runtime, least), *await _stop_sandboxes(run, runtime)]
    if not failures and effect.ends_pod:
        await refuse_unlisted_remains(run)
    if failures:
        problem = Unstopped(failures)
        if effect.ends_pod:
            run.announce("Warning", "FailedKillPod", f"error killing pod: {problem}")
        raise problem


async def _stop_containers(run: Execution, runtime: PodRuntime, least: int) -> list[str]:
    """`least`: the least grace period of each container, in seconds, whatever its pod sets. Returns the failures.
    Raises EffectInterrupted."""
    pod, grace = run.state.wanted.pod, run.state.wanted.ordered_grace
    try:
        planned = [plan(ran, pod, grace) async for some in pieces(alive(runtime), _AT_ONCE) for ran in some]
        await terminate(run, [msgspec.structs.replace(one, grace=max(least, one.grace)) for one in planned])
    except Unstopped as problem:
        return list(problem.failures)
    run.report(ContainersStopped([one.ran.id for one in planned]))
    return []


async def _stop_sandboxes(run: Execution, runtime: PodRuntime) -> list[str]:
    """Stop all sandboxes, whatever the state of the containers: one that is not ready may still have its address and
    host ports. Returns the failures.
    """
    stops = (run.services.client.stop_pod_sandbox(sandbox.id) for sandbox in runtime.sandboxes)
    results = await asyncio.gather(*stops, return_exceptions=True)
    failures = []
    for result in results:
        if isinstance(result, CriError):
            failures.append(_failure("KillPodSandbox", run.state.uid, result))
        elif isinstance(result, BaseException):
            raise result
    return failures


async def _remove_created(run: Execution, runtime: PodRuntime) -> None:
    """A container that cannot be removed is killed when the pod's cgroup is removed. Raises CriError."""
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
    run.announce("Normal", "Killing", text, sources[0].name, instance=sources[0].id)
    run.report(AllRestarting(own, text, {source.name: next_consecutive_restarts(source) for source in sources}))
    run.publish()  # shows the condition AllContainersRestarting while they are stopped
    here = [ran for ran in runtime.containers if ran.name in own]
    await terminate(run, [plan(ran, pod, 0) for ran in alive(runtime) if ran.name in own])
    await run.look()
    run.publish()  # reports the exits, which the runtime forgets with the containers
    last = {source.id for source in sources}
    await asyncio.gather(*(client.remove_container(ran.id) for ran in here if ran.id not in last))
    await asyncio.gather(*(client.remove_container(source) for source in last))
    run.report(RuntimeTouched())
