"""Stops the containers and sandboxes of a pod, and reports it.

A preStop hook runs once, however often the termination is retried."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from actors.pod_workers.phases.effects import RestartAll, StopContainers, StopPod
from actors.pod_workers.phases.termination_plan import Termination, plan
from actors.pod_workers.pod.results import (
    ContainersStopped,
    PreStopStarted,
    PreStopUnreached,
    RuntimeModified,
    TerminationAnnounced,
)
from actors.pod_workers.pod.runtime import alive, created
from actors.pod_workers.pod.starts import AllRestarting
from actors.pod_workers.pod.state_values import ContainerInstance
from actors.shared.cri.crash_loop import next_consecutive_restarts
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, PodRuntime, Sandbox
from actors.shared.pacing import pieces

from . import instance_marks
from .container_stops import PreStopObserver, StopFailure, stop_failure, terminate_all
from .execution import Execution
from .hanging_stops import end_stuck, shims_of
from .leftover_processes import end_remains
from .unlisted_pods import refuse_unlisted_remains

LEAST_GRACE_SECONDS = 1
"""The least grace period, in seconds, of the containers of a pod that ends, so that their hooks can begin, also when a
pod with a finalizer is deleted by force."""
_AT_ONCE = 50
"""The number of containers that are announced or planned before other tasks run."""
CREATED_TRIES = 3
"""The number of failed removals of a never-started container before the pod's termination continues without it."""


class Unstopped(CriError):
    """The runtime has not stopped every container or sandbox; the text has the kubelet's message for each."""

    def __init__(self, failures: Sequence[str]) -> None:
        text = failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]"
        super().__init__("StopContainer", "UNKNOWN", text)
        self.failures = tuple(failures)

    def __str__(self) -> str:
        return self.details


async def terminate(run: Execution, terminations: list[Termination]) -> None:
    """Stop containers of the pod. Raises Unstopped; EffectInterrupted when the grace period is shortened, for a new
    plan.
    """
    grace, known, services = run.state.wanted.grace_seconds, run.state.instances, run.services
    todo = [
        msgspec.structs.replace(one, pre_stop=None)
        if known.get(one.instance.id, ContainerInstance()).pre_stop_started
        else one
        for one in terminations
    ]
    observer = PreStopObserver(
        started=lambda container_id: run.report(PreStopStarted(container_id)),
        unreached=lambda container_id: run.report(PreStopUnreached(container_id)),
        ended=lambda cri_container: instance_marks.pre_stop_ended(
            services.actor, cri_container, services.agent.pod_dir(run.state.uid)
        ),
        failed=lambda name, why: announce_hook(run, "PreStop", name, why),
        on_fallback=announce_fallback(run),
    )
    stopping = terminate_all(services.client, run.state.wanted.pod, todo, run.pod_ip, observer)
    failures = await run.unless(lambda state: state.wanted.grace_seconds < grace, stopping)
    await _end_hanging(run, failures, [one.instance for one in terminations])
    if failures:
        raise Unstopped([failure.text for failure in failures])


async def _end_hanging(
    run: Execution, failures: Sequence[StopFailure], stopped: Sequence[CriContainer | Sandbox]
) -> None:
    hanging = {failure.id for failure in failures if failure.hangs}
    await end_stuck(run, shims_of(one for one in stopped if one.id in hanging))


def announce_termination(run: Execution, cri_container: CriContainer, why: str) -> None:
    """Emit the event once, however often the termination is retried, and by whichever worker."""
    if not run.state.instances.get(cri_container.id, ContainerInstance()).termination_announced:
        run.report(TerminationAnnounced(cri_container.id))
        run.announce("Normal", "Killing", why, cri_container.name, instance=cri_container.id)


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
    run.report(RuntimeModified())


async def stop_pod(run: Execution, effect: StopPod) -> None:
    """Raises as `terminate` does."""
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    async for some in pieces(alive(runtime), _AT_ONCE):
        for cri_container in some:
            announce_termination(run, cri_container, f"Stopping container {cri_container.name}")
    if effect.remove_created:
        await _remove_created(run, runtime)
    least = LEAST_GRACE_SECONDS if effect.ends_pod else 0
    failures = [*await _stop_containers(run, runtime, least), *await _stop_sandboxes(run, runtime)]
    if not failures:
        stopped = {cri_container.id for cri_container in runtime.containers}
        await end_remains(run, stopped | {sandbox.id for sandbox in runtime.sandboxes})
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
        planned = [
            plan(cri_container, pod, grace) async for some in pieces(alive(runtime), _AT_ONCE) for cri_container in some
        ]
        await terminate(run, [msgspec.structs.replace(one, grace=max(least, one.grace)) for one in planned])
    except Unstopped as problem:
        return list(problem.failures)
    run.report(ContainersStopped([one.instance.id for one in planned]))
    return []


async def _stop_sandboxes(run: Execution, runtime: PodRuntime) -> list[str]:
    """Stop all sandboxes, whatever the state of the containers: one that is not ready may still have its address and
    host ports. Returns the failures.
    """
    stops = (run.services.client.stop_pod_sandbox(sandbox.id) for sandbox in runtime.sandboxes)
    results = await asyncio.gather(*stops, return_exceptions=True)
    failures = list[StopFailure]()
    for sandbox, result in zip(runtime.sandboxes, results, strict=True):
        if isinstance(result, CriError):
            failures.append(stop_failure(sandbox.id, "KillPodSandbox", run.state.uid, result))
        elif isinstance(result, BaseException):
            raise result
    await _end_hanging(run, failures, runtime.sandboxes)
    return [failure.text for failure in failures]


async def _remove_created(run: Execution, runtime: PodRuntime) -> None:
    """A container that cannot be removed is killed when the pod's cgroup is removed. Raises CriError."""
    for cri_container in created(runtime):
        try:
            await run.services.client.remove_container(cri_container.id)
        except CriError as error:
            if run.state.retry.failures < CREATED_TRIES:
                raise
            text = "pod %s: container %s was created and is not removed yet: %s"
            run.services.actor.log.warning(text, run.state.label, cri_container.name, error)


async def restart_all(run: Execution, effect: RestartAll) -> None:
    """Raises as `terminate` does."""
    pod, sources, client = run.pod, effect.sources, run.services.client
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    own = [container.name for container in (*pod.spec.initContainers, *pod.spec.containers)]
    text = f"Container {sources[0].name} ended with {sources[0].exit_code}, which restarts all containers of the pod"
    run.announce("Normal", "Killing", text, sources[0].name, instance=sources[0].id)
    run.report(AllRestarting(own, text, {source.name: next_consecutive_restarts(source) for source in sources}))
    run.publish()  # shows the condition AllContainersRestarting while they are stopped
    here = [cri_container for cri_container in runtime.containers if cri_container.name in own]
    await terminate(run, [plan(cri_container, pod, 0) for cri_container in alive(runtime) if cri_container.name in own])
    await run.look()
    run.publish()  # reports the exits, which the runtime forgets with the containers
    await end_remains(run, {cri_container.id for cri_container in here})
    last = {source.id for source in sources}
    await asyncio.gather(
        *(client.remove_container(cri_container.id) for cri_container in here if cri_container.id not in last)
    )
    await asyncio.gather(*(client.remove_container(source) for source in last))
    run.report(RuntimeModified())
