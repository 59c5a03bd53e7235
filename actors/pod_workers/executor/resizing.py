"""In-place resize (KEP-1287): asks for resources, updates the pod's cgroup and containers, and emits events.

The container manager records the allocated and the actuated resources; the resources that a container was created with
are in its annotation. If the shard dies during a resize, the next one repeats it for all containers, which is
idempotent.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

from actors.container_manager.messages import (
    CONTAINER_MANAGER,
    ActuatedContainer,
    ActuatedResources,
    AdmissionFailed,
    CountRunningPod,
    PodAdmitted,
    PodRejected,
    ResizePod,
)
from actors.pod_workers.containers import allocation
from actors.pod_workers.containers.resources import period_of
from actors.pod_workers.containers.sandbox_config import larger, sizes
from actors.pod_workers.phases.effects import ActuateResize, AllocateResize
from actors.pod_workers.phases.termination_plan import plan
from actors.pod_workers.pod.resize_plan import (
    actuated,
    actuated_pod_level,
    by_restart,
    outdated,
    restarted_by_limits_of_pod,
    summary,
    swaps,
    transitional,
    unconfirmed,
    with_limits_of_pod,
)
from actors.pod_workers.pod.resizes import (
    ContainerResized,
    ContainersRestarting,
    ResizeAllocated,
    ResizeCompleted,
    ResizeFailed,
    ResizePending,
    ResizeStarted,
)
from actors.pod_workers.pod.state import PodState
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, NotFound, Unimplemented
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.hardware.allocation import NOTHING
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from proto import cri_pb2 as cri
from supervision.actor import AskError
from supervision.message import Message

from . import pod_processes
from .execution import Execution
from .resize_check import LimitChange, UsageAboveLimit, check_use
from .termination import terminate
from .volumes import mount_again

ASK_SECONDS = 10.0
SWAPPED = "In-place resize of containers with swap is not supported."


class _Changes(NamedTuple):
    """The running containers that a resize concerns; none is in two of the lists."""

    restarts: list[tuple[Container, CriContainer]]
    """Those that are restarted first, as their resizePolicy requires."""
    late_restarts: list[tuple[Container, CriContainer]]
    """Those that are restarted last: a limit of the pod that applies to them has changed."""
    updates: list[tuple[Container, CriContainer, list[str]]]
    """Those that are updated in place, and for which of cpu and memory."""


async def allocate(run: Execution, effect: AllocateResize) -> None:
    """If the container manager does not answer, ask again later; the pod stays unchanged meanwhile."""
    desired = run.state.resizing.desired
    if desired is None:
        return
    try:
        await _allocate(run, desired)
    except AskError as error:
        run.failed(str(error))


async def _allocate(run: Execution, desired: Pod) -> None:
    """Raises AskError."""
    data, state = encode(desired), run.state
    answer: Message = PodRejected(state.uid, "Infeasible", SWAPPED, "swap_limitation")
    if not swaps(run.pod, desired, run.services.starter.parts.may_swap):
        question = ResizePod(state.uid, data, state.wanted.data, state.resizing.deferred_at)
        answer = await run.unless_terminating(run.ask(CONTAINER_MANAGER, question, ASK_SECONDS))
    if run.state.resizing.desired is not desired:
        return  # the desired resources changed meanwhile
    if isinstance(answer, PodRejected):
        generation, known = desired.metadata.generation, run.state.resizing
        if (known.pending[0], known.pending_generation) != (answer.reason, generation):
            why = answer.detail if answer.reason == "Deferred" and answer.detail else answer.reason
            text = f"Pod resize {why}: {summary(desired, answer.message)}"
            run.announce("Warning", f"Resize{answer.reason}", text)
            if answer.reason == "Infeasible":
                run.services.starter.metrics.resize_infeasible(answer.detail)
        if answer.reason == "Infeasible" and run.state.resizing.deferred_at and not run.state.resizing.in_progress:
            count_allocated(run)  # its earlier request may still wait for room, or have it reserved
        run.report(ResizePending(answer.reason, answer.message, generation, run.services.clock()))
        return
    if not isinstance(answer, PodAdmitted):
        why = answer.message if isinstance(answer, AdmissionFailed) else type(answer).__name__
        raise AskError(f"container_manager answered: {why}")
    run.report(ResizeAllocated(desired, data))
    mount_again(run)
    run.announce("Normal", "ResizeStarted", f"Pod resize started: {summary(desired)}")
    run.publish()


def count_allocated(run: Execution) -> None:
    """Have the container manager count the pod's resources, and drop its pending request."""
    order = CountRunningPod(run.state.uid, run.state.wanted.data)
    run.services.actor.tell(CONTAINER_MANAGER, order, deadline=30.0)


def keep_actuated(run: Execution, containers: dict[str, ActuatedContainer] | None = None) -> None:
    """Record the actuated resources of these containers for later incarnations. None: of all running containers."""
    resizing = run.state.resizing
    if resizing.allocated is None:
        return
    found = actuated(run.state) if containers is None else containers
    complete = not resizing.in_progress and resizing.desired is None
    order = ActuatedResources(run.state.uid, found, actuated_pod_level(run.state), complete=complete)
    run.services.actor.tell(CONTAINER_MANAGER, order, deadline=30.0)


async def actuate(run: Execution, effect: ActuateResize) -> None:
    """Resize the containers in place, or restart them if their policy requires it. Raises EffectInterrupted."""
    todo, started_at = outdated(run.state), time.monotonic()
    run.report(ResizeStarted())
    changes = _changes(run.state, todo)
    try:
        await _apply(run, changes)
    except (CriError, UsageAboveLimit) as error:
        if run.state.resizing.error != str(error):
            run.announce("Warning", "ResizeError", f"Pod resize error: {_summary(run, str(error))}")
        run.report(ResizeFailed(str(error), run.services.clock()))
        run.services.starter.metrics.resized(time.monotonic() - started_at, success=False)
        return
    # emitted before the message to the container manager: if the shard dies in between, the next one emits it again
    run.announce("Normal", "ResizeCompleted", f"Pod resize completed: {_summary(run)}")
    runtime = run.state.runtime
    run.report(
        ResizeCompleted([cri_container.id for cri_container in runtime.containers] if runtime is not None else [])
    )
    keep_actuated(run)
    count_allocated(run)  # until now the larger of both limits counted, by the record of the actuated resources
    run.services.starter.metrics.resized(time.monotonic() - started_at, success=True)
    await run.look()


def _changes(state: PodState, todo: list[tuple[Container, CriContainer, list[str]]]) -> _Changes:
    """`todo`: what is outdated, before the resize has started."""
    restarts = [(one, cri_container) for one, cri_container, names in todo if by_restart(one, names)]
    done = {cri_container.id for _, cri_container in restarts}
    late = [each for each in restarted_by_limits_of_pod(state) if each[1].id not in done]
    done |= {cri_container.id for _, cri_container in late}
    updates = [each for each in todo if each[1].id not in done]
    done |= {cri_container.id for _, cri_container, _ in updates}
    updates += [each for each in unconfirmed(state) or with_limits_of_pod(state) if each[1].id not in done]
    return _Changes(restarts, late, updates)


async def _apply(run: Execution, changes: _Changes) -> None:
    """Raises CriError, and UsageAboveLimit before anything is changed."""
    memory = [
        _limit_change(run, one, cri_container) for one, cri_container, names in changes.updates if "memory" in names
    ]
    await check_use(run.services.client, run.pod, memory, _pod_cgroups(run))
    told = await _allow_larger(run)
    await _restart(run, changes.restarts)
    for container, cri_container, _ in changes.updates:
        await _update(run, container, cri_container)
    if (size := _sandbox_sizes(run, run.pod)) != told:
        await _update_sandbox(run, size)
    # once all else is done: the pod's new limits count for them until the resize completes
    await _restart(run, changes.late_restarts)


def _summary(run: Execution, error: str = "") -> str:
    """The summary of the request in progress, also while a later one is pending."""
    return summary(run.pod, error, run.state.resizing.generation)


def _sandbox_sizes(run: Execution, pod: Pod) -> cri.LinuxContainerResources:
    period_us, exclusive = period_of(run.services.agent.config), run.state.acquired.exclusive_cpus
    return sizes(pod, period_us, exclusive_cpus=exclusive)[1]


async def _allow_larger(run: Execution) -> cri.LinuxContainerResources | None:
    """Before anything grows, tell the runtime the larger of both sizes of the sandbox: it may reject the resize, and
    nothing has changed then. Returns the size; None: nothing grows. Raises CriError."""
    now = allocation.of(run.pod)
    before = _sandbox_sizes(run, allocation.with_resources(run.pod, now | transitional(run.state)))
    wanted = larger(before, _sandbox_sizes(run, run.pod))
    if wanted == before:
        return None
    await _update_sandbox(run, wanted)
    return wanted


async def _update_sandbox(run: Execution, resources: cri.LinuxContainerResources) -> None:
    """Update the sandbox of a runtime that sizes it by its containers; older ones do not know the call. Raises
    CriError.
    """
    runtime = run.state.runtime
    if runtime is None or not runtime.sandboxes:
        return
    overhead, _ = sizes(run.pod, period_of(run.services.agent.config), exclusive_cpus=False)
    with suppress(Unimplemented):
        await run.services.client.update_pod_sandbox_resources(
            runtime.sandboxes[0].id, overhead or cri.LinuxContainerResources(), resources
        )


async def _restart(run: Execution, found: list[tuple[Container, CriContainer]]) -> None:
    """Stop these containers; they start again with the allocated resources. Raises like `terminate`."""
    if not found:
        return
    for container, cri_container in found:
        text = f"Container {container.name} resize requires restart"
        run.announce("Normal", "Killing", text, container.name, instance=cri_container.id)
    run.report(ContainersRestarting([cri_container.id for _, cri_container in found]))
    await terminate(run, [plan(cri_container, run.pod) for _, cri_container in found])


async def _update(run: Execution, container: Container, cri_container: CriContainer) -> None:
    """Update the container in place. If it has ended meanwhile, nothing is done: its next instance is created with the
    allocated resources. Raises CriError."""
    client = run.services.client
    try:
        await client.update_container_resources(cri_container.id, _resources(run, container))
    except CriError:
        if await _runs(client, cri_container.id):
            raise
        return
    run.report(ContainerResized(cri_container.id, container.resources))


async def _runs(client: CriClient, container_id: str) -> bool:
    """Raises CriError."""
    try:
        found = await client.container_status(container_id)
    except NotFound:
        return False
    return found.state is CriContainerState.RUNNING


def _resources(run: Execution, container: Container) -> cri.LinuxContainerResources:
    hardware = run.state.acquired.containers.get(container.name, NOTHING)
    return run.services.starter.parts.resources(run.pod, container, hardware)


def _limit_change(run: Execution, container: Container, cri_container: CriContainer) -> LimitChange:
    before = cri_container.resources.memory_limit_bytes if cri_container.resources is not None else 0
    return LimitChange(container.name, cri_container.id, before, _resources(run, container).memory_limit_in_bytes)


def _pod_cgroups(run: Execution) -> list[str]:
    return pod_processes.cgroups(run.state, run.services.agent.config.cgroupRoot)
