"""Ends a pod: its containers, then what it held, then its last traces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from actors.container_manager.messages import CONTAINER_MANAGER, PodReleased, ReleasePod, StopCounting
from actors.pod_workers.containers import files
from actors.pod_workers.garbage import container_gc
from actors.pod_workers.phases.termination_plan import Ending, alive, end_all, plan, unborn
from actors.pod_workers.pod.table import Event
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.pod import Pod
from actors.volume_manager.messages import VOLUME_MANAGER, UnmountVolumes, VolumesFailed, VolumesUnmounted

from . import spans

if TYPE_CHECKING:
    from .pod_worker import PodDriver

RELEASE_SECONDS = 10.0
VOLUME_SECONDS = 130.0
UNBORN_TRIES = 3
"""In a row; then a pod's end no longer waits for the removal of a container that never started."""


async def terminate(driver: PodDriver) -> None:
    """End every container, then the sandboxes, until the runtime agrees that all are gone."""
    runtime = await driver.look()
    for ran in alive(runtime):
        tell_end(driver, ran, f"Stopping container {ran.name}")
    await stop_whatever_there_is(driver, runtime)
    runtime = await driver.look()
    if remains(runtime):
        driver.again("the runtime still has running containers or a sandbox of it")
        return
    driver.waiting = {}
    driver.go(Event.STOPPED)


def tell_end(driver: PodDriver, ran: Ran, why: str) -> None:
    """Users, once, however often it takes."""
    if ran.id not in driver.unfinished.told:
        driver.unfinished.told.add(ran.id)
        driver.worker.event(driver, "Normal", "Killing", why, ran.name)


def remains(runtime: PodRuntime | None) -> bool:
    """Whether something of it still runs, as far as is known."""
    return runtime is not None and (bool(alive(runtime)) or any(sandbox.ready for sandbox in runtime.sandboxes))


async def stop_whatever_there_is(driver: PodDriver, runtime: PodRuntime) -> None:
    """What is only just being started is not removed by a runtime; soon it runs, and is ended as it should be. What is
    never removed is left to the release of the pod's cgroup. Raises CriError."""
    for ran in unborn(runtime):
        try:
            await driver.worker.client.remove_container(ran.id)
        except CriError as error:
            if driver.failures < UNBORN_TRIES:
                raise
            driver.worker.log.warning("pod %s: %s was made, and is not removed yet: %s", driver.label, ran.name, error)
    await stop_all(driver, runtime, driver.pod, driver.override)


async def end(driver: PodDriver, endings: list[Ending]) -> None:
    """End containers. Hooks run once, however often it takes. Raises CriError; Left when the pod is to end sooner than
    it was to: then it is planned anew."""
    driver.hurry.clear()
    begun = driver.unfinished.pre_stop
    ending_all = end_all(driver.worker.client, driver.pod, endings, driver.ip(), driver.say, begun)
    errors = await driver.unless(driver.hurry, ending_all)
    if errors:
        raise errors[0]


async def stop_all(driver: PodDriver, runtime: PodRuntime, pod: Pod | None, grace: int | None = None) -> None:
    """Its containers, then its sandboxes. Raises as `end` does."""
    await end(driver, [plan(ran, pod, grace) for ran in alive(runtime)])
    ready = [sandbox.id for sandbox in runtime.sandboxes if sandbox.ready]
    await asyncio.gather(*(driver.worker.client.stop_pod_sandbox(sandbox_id) for sandbox_id in ready))


async def clean(driver: PodDriver) -> None:
    """Give back resources, volumes and the cgroup."""
    driver.worker.tell(CONTAINER_MANAGER, StopCounting(driver.uid))
    answer = await driver.ask(VOLUME_MANAGER, UnmountVolumes(driver.uid), VOLUME_SECONDS)
    if not isinstance(answer, VolumesUnmounted):
        text = answer.message if isinstance(answer, VolumesFailed) else type(answer).__name__
        driver.worker.event(driver, "Warning", "FailedUnmount", text)
        driver.again(f"volumes: {text}")
        return
    driver.unmounted = True
    driver.publish()
    released = await driver.ask(CONTAINER_MANAGER, ReleasePod(driver.uid), RELEASE_SECONDS)
    if isinstance(released, PodReleased) and released.message:
        driver.worker.log.info("pod %s: its cgroup: %s", driver.label, released.message)
    driver.in_ledger = False
    driver.go(Event.CLEANED)


async def rest(driver: PodDriver) -> None:
    """Keep the last instance of each container for as long as a source has the pod; then leave no trace. What shows up
    late (a runtime's answer that nobody waited for any more) is ended as well."""
    if not driver.removed:
        if remains(driver.runtime):
            await stop_whatever_there_is(driver, await driver.look())
            await driver.look()
        await collect(driver)
        return
    with spans.of_garbage(driver):
        runtime = await driver.look()
        client = driver.worker.client
        await asyncio.gather(*(client.remove_container(ran.id) for ran in runtime.containers))
        for sandbox in runtime.sandboxes:
            await client.remove_pod_sandbox(sandbox.id)
    name, namespace = (
        (driver.pod.metadata.name, driver.pod.metadata.namespace) if driver.pod else (runtime.name, runtime.namespace)
    )
    await driver.worker.remove_traces(driver.uid, namespace, name)
    driver.go(Event.FORGOTTEN)


async def collect(driver: PodDriver) -> None:
    """Remove dead containers and sandboxes that nobody needs any more."""
    runtime, pod = driver.runtime, driver.pod
    if runtime is None or pod is None:
        return
    client, agent = driver.worker.client, driver.worker.agent
    dead = container_gc.dead_containers(runtime, container_gc.policy_of(agent.flags), driver.worker.clock())
    sandboxes = container_gc.dead_sandboxes(runtime, keep_newest=True)
    if not (dead or sandboxes):
        return
    with spans.of_garbage(driver):
        for ran in dead:
            await client.remove_container(ran.id)
            files.remove_log(agent.container_logs_dir, agent.pod_logs_dir, pod, ran)
        for sandbox in sandboxes:
            await client.remove_pod_sandbox(sandbox.id)
        await driver.look()
