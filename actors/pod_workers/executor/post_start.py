"""The postStart hook of a container: run after its start, or again after an incarnation that died during it."""

from __future__ import annotations

from actors.pod_workers.phases.effects import RunPostStart
from actors.pod_workers.phases.termination_plan import plan
from actors.pod_workers.pod.results import RuntimeModified
from actors.pod_workers.pod.runtime import alive
from actors.pod_workers.pod.starts import (
    PostStartEnded,
    PostStartFailed,
    PostStartReported,
    PostStartStarted,
)
from actors.shared.kube.container import Container
from actors.shared.kube.pods import find_container

from . import instance_marks
from .execution import Execution
from .permit import Permit
from .termination import announce_fallback, announce_hook, announce_termination, terminate


async def hook_after_start(run: Execution, container: Container, container_id: str, count: int, permit: Permit) -> None:
    """Run the container's hook, if any. If it fails, the container is stopped as if it had failed itself."""
    if not instance_marks.has_post_start(container):
        return
    permit.release()
    run.report(PostStartStarted(container_id))
    hook = run.services.starter.post_start(run.pod, container, container_id, run.pod_ip, announce_fallback(run))
    error = await run.unless_terminating(hook)
    services, pod_dir = run.services, run.services.agent.pod_dir(run.state.uid)
    if not error:
        run.report(PostStartEnded(container_id))
        instance_marks.post_start_ended(services.actor, container, pod_dir, count)
        return
    announce_hook(run, "PostStart", container.name, error)
    run.report(PostStartFailed(container_id))
    try:
        runtime = await run.look()
        instance = next((one for one in alive(runtime) if one.id == container_id), None)
        if instance is not None:
            announce_termination(run, instance, "FailedPostStartHook")
            await terminate(run, [plan(instance, run.pod)])
        instance_marks.post_start_ended(services.actor, container, pod_dir, count)
    finally:
        run.report(PostStartReported(container.name, error))


async def run_post_start(run: Execution, effect: RunPostStart) -> None:
    """Raises like `terminate`."""
    for instance in effect.containers:
        run.report(PostStartEnded(instance.id))
        container = find_container(run.pod, instance.name)
        if container is not None:
            await hook_after_start(run, container, instance.id, instance.restart_count, run.services.starter.permit())
    run.report(RuntimeModified())
