"""Starts sandboxes and containers of a pod, and runs postStart hooks."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.container_manager.messages import ActuatedContainer
from actors.image_manager.messages import ImageReady
from actors.pod_workers.containers import files
from actors.pod_workers.containers.dns import MISSING_CLUSTER_DNS, NO_CLUSTER_DNS
from actors.pod_workers.containers.security import with_groups
from actors.pod_workers.errors import StartFailed
from actors.pod_workers.kubernetes_events import of_failed_start
from actors.pod_workers.phases.actions import Start
from actors.pod_workers.phases.effects import StartContainers
from actors.pod_workers.pod.resizes import ResizeRetried
from actors.pod_workers.pod.results import RuntimeModified
from actors.pod_workers.pod.starts import (
    ContainerFailed,
    ContainerResumed,
    ContainerStarted,
    ImagePulled,
    SandboxFailed,
    SandboxStarted,
    StartUnderWay,
)
from actors.pod_workers.pod.state import SANDBOX
from actors.pod_workers.pod.state_values import Attempt
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from actors.shared.kube.pods import find_container
from supervision.time_scale import scaled

from . import resource_claims
from .execution import Execution
from .permit import Permit
from .post_start import hook_after_start
from .resizing import count_allocated, keep_actuated
from .unlisted_pods import refuse_second_instance
from .volumes import lost_volumes, mount_lost

START_PATIENCE: Final = 2.0
"""Seconds after which a start is cancelled whose pod must end. Most end sooner, and an orderly stop follows; one that
hangs in the runtime, as with a `runc` that hangs, would hold up the end of the pod."""
NOT_STARTED: Final = "the runtime answers that the container is started, and then shows it as created"
MAY_LEAVE_CONTAINER = ("RunContainerError", "CreateContainerError")
"""Waiting reasons after which the runtime may have a leftover of the failed start."""


async def start_containers(run: Execution, effect: StartContainers) -> None:
    """Perform the starts. Images are pulled concurrently with the sandbox's start. After a failure they are pulled only
    once the sandbox exists, so that a retry does not emit an event for each image. Raises CriError, EffectInterrupted.
    """
    await refuse_second_instance(run)
    images: dict[str, asyncio.Task[ImageReady]] = {}
    try:
        if not (effect.create_sandbox and run.state.retry.failures):
            _pull_all(run, effect, images)
        if await _start_all(run, effect, images):
            run.report(RuntimeModified())
    finally:
        for image in images.values():
            if not image.done():
                image.cancel()
            elif not image.cancelled():
                image.exception()


def _pull_all(run: Execution, effect: StartContainers, images: dict[str, asyncio.Task[ImageReady]]) -> None:
    """Start the pulls that are not under way."""
    for one in effect.start:
        if one.container.name not in images:
            images[one.container.name] = asyncio.ensure_future(_pull(run, one.container))


async def _pull(run: Execution, container: Container) -> ImageReady:
    """Wait until the image is on the node. Raises StartFailed."""
    started_at = run.services.clock()
    found = await run.services.starter.image(run.pod, container)
    if found.pulled:
        run.report(ImagePulled(started_at, run.services.clock()))
    return found


async def _start_all(run: Execution, effect: StartContainers, images: dict[str, asyncio.Task[ImageReady]]) -> bool:
    """Returns whether anything changed in the runtime."""
    permit = run.services.starter.permit()
    try:
        if effect.create_sandbox and not await _prepare_claims(run):
            return False
        await run.unless_terminating(permit.acquire())
        if effect.create_sandbox and not await _start_sandbox(run, effect.attempt):
            return False
        _pull_all(run, effect, images)
        for instance in effect.resume:
            await _resume(run, instance, permit)
        results = [await _start(run, one, images[one.container.name], permit) for one in effect.start]
    finally:
        permit.release()
    return effect.create_sandbox or bool(effect.resume) or any(results)


async def _prepare_claims(run: Execution) -> bool:
    """Prepare the resource claims, without a permit: a driver that does not answer delays no other pod."""
    try:
        await resource_claims.prepare(run)
    except StartFailed as failure:
        run.announce("Warning", failure.reason, failure.message)
        run.report(SandboxFailed(failure.message, run.services.clock()))
        return False
    return True


async def _start_sandbox(run: Execution, attempt: int) -> bool:
    pod, starter = run.pod, run.services.starter
    acquired = run.state.acquired
    if attempt:  # its cgroup may have gone with the previous sandbox: systemd stops a slice with everything in it
        count_allocated(run)
        run.report(ResizeRetried())
    if not _continues_start(run, SANDBOX):
        starter.metrics.sandbox_starts(pod, attempt)
    try:
        making = starter.sandbox(with_groups(pod, acquired.groups), attempt, acquired)
        run.report(SandboxStarted(await run.unless_terminating(making)))
    except StartFailed as failure:
        if _wait(run, SANDBOX, failure):
            return False
        starter.metrics.sandbox_failed(pod)
        run.announce("Warning", "FailedCreatePodSandBox", failure.message)
        run.report(SandboxFailed(failure.message, run.services.clock(), unreachable=failure.unreachable))
        return False
    for reason, text in starter.dns_warnings(pod):
        run.announce("Warning", reason, text)
        if reason == MISSING_CLUSTER_DNS:
            of_node = node_event(run.services.agent.node_name, reason, NO_CLUSTER_DNS, "Warning")
            run.services.actor.tell(EVENT_CLIENT, of_node)
    try:
        await run.read_runtime_again()
    except CriError as error:
        run.announce("Warning", "FailedPodSandBoxStatus", f"Unable to get pod sandbox status: {error.rpc_text}")
        raise
    run.publish()  # PodReadyToStartContainers must not wait for the images
    return True


async def _start(run: Execution, start: Start, image: asyncio.Task[ImageReady], permit: Permit) -> bool:
    """Create and start one container; return whether anything changed in the runtime."""
    name, services = start.container.name, run.services
    try:
        await _remove_given_up(run, name)
    except CriError as error:
        _fail(run, name, StartFailed("CreateContainerError", str(error)))
        return True
    if not start.restart_count:
        # logs may exist of instances that the runtime has forgotten
        count = files.highest_log_number(services.agent.pod_logs_dir, run.pod, name) + 1
        carried = run.state.attempts.get(name, Attempt()).consecutive_restarts
        start = Start(start.container, count, carried or start.consecutive_restarts)
    if not image.done():
        permit.release()
    try:
        found = await run.unless_terminating(image)
        acquired = run.state.acquired
        if acquired.prepare:
            permit.release()  # a device plugin may not answer
            acquired = await run.unless_terminating(services.starter.prepared(run.pod, start.container, acquired))
        if lost := lost_volumes(acquired.volumes, services.agent.pod_dir(run.state.uid)):
            permit.release()
            await mount_lost(run, lost)
        await run.unless_terminating(permit.acquire())
        runtime, acquired = run.state.runtime, msgspec.structs.replace(acquired, volumes=run.state.acquired.volumes)
        assert runtime is not None  # noqa: S101 - looked at before
        if not _continues_start(run, name):
            services.starter.metrics.container_starts(run.pod, name)
        starting = services.starter.container(with_groups(run.pod, acquired.groups), start, found, runtime, acquired)
        container_id = await run.unless_terminating(starting, scaled(START_PATIENCE))
    except StartFailed as failure:
        _fail(run, name, failure)
        return failure.reason in MAY_LEAVE_CONTAINER
    run.report(ContainerStarted(name, container_id, runtime.sandboxes[0].id))
    keep_actuated(run, {name: ActuatedContainer(container_id, start.container.resources)})
    run.announce("Normal", "Started", "Container started", name)
    await hook_after_start(run, start.container, container_id, start.restart_count, permit)
    return True


async def _remove_given_up(run: Execution, name: str) -> None:
    """Remove the last instance if its start was given up: the next one has its number. Raises CriError."""
    last = run.state.runtime.newest(name) if run.state.runtime is not None else None
    if last is not None and last.start_given_up:
        await run.services.client.remove_container(last.id)
        files.remove_empty_log(run.services.agent.pod_logs_dir, run.pod, name, last.restart_count)


async def _resume(run: Execution, instance: CriContainer, permit: Permit) -> None:
    """Start a container that was created before. One during whose start the runtime ended is removed instead, and made
    again: containerd may still have the task of that start, and a second start fails, or ends containerd (measured on
    1.6.20, where the shim was silent when containerd came back). If that start has succeeded meanwhile, it counts."""
    container = find_container(run.pod, instance.name)
    if container is None:
        return
    await run.unless_terminating(permit.acquire())
    try:
        if run.state.is_start_interrupted(instance.id):
            if (await run.services.client.container_status(instance.id)).state is not CriContainerState.CREATED:
                return
            await run.services.client.remove_container(instance.id)
            files.remove_empty_log(run.services.agent.pod_logs_dir, run.pod, instance.name, instance.restart_count)
            return
        starting = run.services.starter.start(run.pod, container, instance.id, instance.restart_count)
        await run.unless_terminating(starting, scaled(START_PATIENCE))
    except StartFailed as failure:
        _fail(run, container.name, failure)
        return
    except CriError as error:
        _fail(run, container.name, StartFailed("CreateContainerError", str(error)))
        return
    if run.state.is_start_answered(instance.id):
        _fail(run, container.name, StartFailed("RunContainerError", NOT_STARTED, container_id=instance.id))
        return
    run.report(ContainerResumed(container.name, instance.id))
    await hook_after_start(run, container, instance.id, instance.restart_count, permit)


def _continues_start(run: Execution, name: str) -> bool:
    """Whether this continues an earlier start."""
    return run.state.attempts.get(name, Attempt()).under_way_since > 0


def _wait(run: Execution, name: str, failure: StartFailed) -> bool:
    """Whether this is no failure, because an earlier start is under way and may still succeed."""
    now = run.services.clock()
    if not failure.under_way or not run.state.may_be_under_way(name, now, run.services.start_seconds):
        return False
    run.services.actor.log.info("pod %s: an earlier start is under way: %s", run.state.label, failure.message)
    run.report(StartUnderWay(name, failure.container_id, now))
    return True


def _fail(run: Execution, name: str, failure: StartFailed) -> None:
    if _wait(run, name, failure):
        return
    if failure.reason:  # otherwise the pull continues
        run.services.starter.metrics.container_failed(run.pod, name, failure.reason)
    *first, last = of_failed_start(failure.reason, failure.event)
    for event in first:
        run.announce(*event, "" if failure.of_pod else name)
    run.announce(*last, name)
    now = run.services.clock()
    message, container_id = failure.message, failure.container_id
    run.report(
        ContainerFailed(
            name, failure.reason, message, failure.retry, container_id, now, unreachable=failure.unreachable
        )
    )
