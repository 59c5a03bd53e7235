"""Cleans up after a pod: volumes, cgroup, dead containers, logs, its directory."""

from __future__ import annotations

import asyncio

from actors.container_manager.messages import (
    CONTAINER_MANAGER,
    CountRunningPod,
    FreeRequests,
    PodReleased,
    ReleasePod,
    StopCounting,
)
from actors.pod_workers.containers import files
from actors.pod_workers.phases.effects import (
    CollectGarbage,
    Count,
    FreeResources,
    Release,
    ReleaseResources,
    RemoveTraces,
    Unmount,
)
from actors.pod_workers.pod.results import Counted, Forgotten, Released, Unmounted
from actors.pod_workers.pod.runtime import alive
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, RuntimeFailure
from actors.shared.cri.model import PodRuntime, Sandbox
from actors.volume_manager.messages import VOLUME_MANAGER, UnmountVolumes, VolumesFailed, VolumesUnmounted

from . import spans
from .execution import Execution
from .volumes import VOLUME_SECONDS

RELEASE_SECONDS = 10.0
TRACE_SECONDS = 30.0
_REMOVE_TRACES = "actors.pod_workers.containers.files:remove_traces"


async def count(run: Execution, effect: Count) -> None:
    state = run.state
    if state.acquired.counted or state.wanted.pod is None or state.runtime is None or not alive(state.runtime):
        return
    run.services.actor.tell(CONTAINER_MANAGER, CountRunningPod(state.uid, state.wanted.data), deadline=30.0)
    run.report(Counted())


async def free_requests(run: Execution, effect: FreeResources) -> None:
    run.services.actor.tell(CONTAINER_MANAGER, FreeRequests(run.state.uid))


async def release_resources(run: Execution, effect: ReleaseResources) -> None:
    run.services.actor.tell(CONTAINER_MANAGER, StopCounting(run.state.uid))


async def unmount(run: Execution, effect: Unmount) -> None:
    """Raises AskError."""
    answer = await run.ask(VOLUME_MANAGER, UnmountVolumes(run.state.uid), VOLUME_SECONDS)
    if isinstance(answer, VolumesUnmounted):
        run.report(Unmounted())
        return
    text = answer.message if isinstance(answer, VolumesFailed) else type(answer).__name__
    run.announce("Warning", "FailedUnmount", text)
    run.failed(f"volumes: {text}")


async def release(run: Execution, effect: Release) -> None:
    """Raises AskError."""
    answer = await run.ask(CONTAINER_MANAGER, ReleasePod(run.state.uid), RELEASE_SECONDS)
    if isinstance(answer, PodReleased) and answer.message:
        run.services.actor.log.info("pod %s: its cgroup: %s", run.state.label, answer.message)
    run.report(Released())


async def collect_garbage(run: Execution, effect: CollectGarbage) -> None:
    """Raises CriError."""
    client, agent, pod = run.services.client, run.services.agent, run.pod
    with spans.of_garbage(run):
        for instance in effect.containers:
            await client.remove_container(instance.id)
            files.remove_log(agent.container_logs_dir, agent.pod_logs_dir, pod, instance)
        for sandbox in effect.sandboxes:
            try:
                await _remove_sandbox(client, sandbox)
            except CriError as error:  # the pod is not affected: the next round retries
                text = "pod %s: its dead sandbox %s is not removed: %s"
                run.services.actor.log.warning(text, run.state.label, sandbox.id, error)
        await run.look()


async def _remove_sandbox(client: CriClient, sandbox: Sandbox) -> None:
    """Stop it first: a sandbox whose process died may still have its address. Raises CriError."""
    await client.stop_pod_sandbox(sandbox.id)
    await client.remove_pod_sandbox(sandbox.id)


def _check_removed(runtime: PodRuntime) -> None:
    """Nobody looks for it once the pod is forgotten. Raises RuntimeFailure."""
    listed = [*(one.id for one in runtime.containers), *(one.id for one in runtime.sandboxes)]
    if listed:
        text = f"the runtime answers that {listed[0]} is removed, and still lists it"
        raise RuntimeFailure("remove", "UNKNOWN", text)


async def remove_traces(run: Execution, effect: RemoveTraces) -> None:
    """Raises CriError, DisposableError, OSError."""
    services, client, uid = run.services, run.services.client, run.state.uid
    with spans.of_garbage(run):
        runtime = await run.look()
        await asyncio.gather(*(client.remove_container(instance.id) for instance in runtime.containers))
        for sandbox in runtime.sandboxes:
            await _remove_sandbox(client, sandbox)
        if runtime.containers or runtime.sandboxes:
            _check_removed(await run.look())
    name, namespace = runtime.name, runtime.namespace
    if run.state.wanted.pod is not None:
        name, namespace = run.state.wanted.pod.metadata.name, run.state.wanted.pod.metadata.namespace
    agent = services.agent
    where = {
        "logs_dir": agent.pod_logs_dir,
        "namespace": namespace,
        "name": name,
        "uid": uid,
        "pod_dir": agent.pod_dir(uid),
    }
    if files.has_few_traces(**where):
        files.remove_traces(agent.container_logs_dir, **where)
    else:
        arguments = {"links_dir": agent.container_logs_dir, **where}
        await services.actor.disposable(_REMOVE_TRACES, arguments, deadline=TRACE_SECONDS)
    run.report(Forgotten())
