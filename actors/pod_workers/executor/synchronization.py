"""Brings a running pod nearer to what it should be: one decision, what it asks for, a look, and again."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from actors.image_manager.messages import ImageReady
from actors.pod_workers.containers import files
from actors.pod_workers.containers.names import label
from actors.pod_workers.errors import StartFailed
from actors.pod_workers.kubernetes_events import of_failed_start
from actors.pod_workers.phases.pod_actions import POST_START, Actions, Backoff, Start, Verdicts, compute, earliest
from actors.pod_workers.phases.termination_plan import alive, plan
from actors.pod_workers.pod.table import Event
from actors.shared.cri.model import Container, PodRuntime, is_running
from actors.shared.cri.restarts import RESTARTING_ALL, next_row
from actors.shared.kube.container import Container as Specified
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.status_manager.messages import Waiting

from . import resizing
from .container_starter import Turn
from .termination import collect, end, stop_all, tell_end

if TYPE_CHECKING:
    from .pod_worker import PodDriver

RETRY_SECONDS = 1.0
TOLD_SECONDS = 5.0
"""After a failed pull its reason stands for so long; then users are told that the next try waits."""
PULLS_TOLD = 20
MAX_HELD_SECONDS = 30.0
ROUNDS = 20
"""More decisions than that in one go would be a loop: the rest waits for the next wake."""


async def sync(driver: PodDriver) -> None:
    """Do what is to be done, look, and again, until nothing is."""
    for _ in range(ROUNDS):
        if driver.must_leave():
            driver.go(Event.LEAVE)
            return
        if driver.stale or driver.runtime is None:
            await driver.look()
            continue  # it may be told to end meanwhile
        await resizing.resize(driver)
        actions = without_held(driver, decide(driver, driver.runtime))
        take_back(driver, actions)
        note_backoffs(driver, actions)
        if actions.done:
            driver.go(Event.LEAVE)
            return
        if not await perform(driver, actions) and not await owed_hooks(driver):
            break
        await driver.look_again()
        driver.publish()
    await collect(driver)


def decide(driver: PodDriver, runtime: PodRuntime) -> Actions:
    """What is to be done now; written down first which pod is in hand."""
    worker = driver.worker
    with worker.journal.hand(worker.key(driver)):
        pod, renewed = driver.the_pod(), driver.unfinished.renewed
        return compute(pod, runtime, driver.verdicts, worker.clock(), worker.maximum_backoff, renewed)


def take_back(driver: PodDriver, actions: Actions) -> None:
    """What runs and is not to be ended any more is not begun anew when it ends by itself."""
    running = {ran.id for ran in driver.runtime.containers if is_running(ran)} if driver.runtime is not None else set()
    wanted = {kill.container.id for kill in actions.kill} | {ran.id for _, ran, _ in resizing.outdated(driver)}
    driver.unfinished.renewed -= running - wanted


def without_held(driver: PodDriver, actions: Actions) -> Actions:
    """The same without what failed a moment ago."""
    now = driver.worker.clock()
    # later than any pause is one of before the clock was set back
    driver.held = {name: until for name, until in driver.held.items() if now < until <= now + MAX_HELD_SECONDS}
    if not driver.held:
        return actions
    driver.at(min(driver.held.values()))
    if actions.create_sandbox and "" in driver.held:
        return Actions()
    start = [one for one in actions.start if one.container.name not in driver.held]
    resume = [one for one in actions.resume if one.name not in driver.held]
    return msgspec.structs.replace(actions, start=start, resume=resume)


def note_backoffs(driver: PodDriver, actions: Actions) -> None:
    due = earliest(actions.backoff)
    if due:
        driver.at(due)
    names = {backoff.name for backoff in actions.backoff}
    for backoff in actions.backoff:
        if driver.waiting.get(backoff.name, Waiting("")).reason != "CrashLoopBackOff":
            text = f"Back-off restarting failed container {backoff.name} in pod {label(driver.the_pod())}"
            driver.worker.event(driver, "Warning", "BackOff", text, backoff.name)
        driver.waiting[backoff.name] = Waiting("CrashLoopBackOff", backoff_text(driver, backoff))
    for name in [
        name for name, why in driver.waiting.items() if why.reason == "CrashLoopBackOff" and name not in names
    ]:
        del driver.waiting[name]


def backoff_text(driver: PodDriver, backoff: Backoff) -> str:
    pause = max(0, round(backoff.until - backoff.last.finished_ns / 1e9))
    return f"back-off {pause}s restarting failed container={backoff.name} pod={label(driver.the_pod())}"


async def perform(driver: PodDriver, actions: Actions) -> bool:
    """Carry out; whether anything was done that changes the runtime."""
    pod, runtime = driver.the_pod(), driver.runtime or PodRuntime(uid=driver.uid)
    if actions.kill_pod:
        if actions.create_sandbox and runtime.sandboxes:
            text = "Pod sandbox changed, it will be killed and re-created."
            driver.worker.event(driver, "Normal", "SandboxChanged", text)
        await stop_all(driver, runtime, pod)
    if actions.restart_all:
        await restart_all(driver, runtime, pod, actions.restart_all)
        return True
    if actions.kill:
        endings = [plan(kill.container, pod, None, kill.probe) for kill in actions.kill]
        for kill in actions.kill:
            tell_end(driver, kill.container, kill.why)
        driver.unfinished.renewed |= {kill.container.id for kill in actions.kill if kill.again}
        await end(driver, endings)
        return True
    if not (actions.create_sandbox or actions.start or actions.resume):
        return False
    if not driver.worker.network_ready and not pod.spec.hostNetwork and actions.create_sandbox:
        text = f"network is not ready: {driver.worker.runtime_message}"
        if text not in {why.message for why in driver.waiting.values()}:
            driver.worker.event(driver, "Warning", "NetworkNotReady", text)
        driver.wait_for_all("ContainerCreating", text)
        driver.at(driver.worker.clock() + RETRY_SECONDS)
        return False
    images = {
        start.container.name: asyncio.ensure_future(pull(driver, pod, start.container)) for start in actions.start
    }
    try:
        return await start(driver, pod, actions, images)
    finally:
        for image in images.values():
            if not image.done():
                image.cancel()
            elif not image.cancelled():
                image.exception()


async def restart_all(driver: PodDriver, runtime: PodRuntime, pod: Pod, sources: list[Container]) -> None:
    """End and remove all but the ephemeral ones, those that asked for it last: until then it is begun again."""
    own = {container.name for container in (*pod.spec.initContainers, *pod.spec.containers)}
    text = f"Container {sources[0].name} ended with {sources[0].exit_code}, which restarts all containers of the pod"
    driver.worker.event(driver, "Normal", "Killing", text, sources[0].name)
    driver.waiting |= {name: Waiting(RESTARTING_ALL, text) for name in own}
    driver.rows = {source.name: next_row(source) for source in sources}
    driver.stale = True
    client, here = driver.worker.client, [ran for ran in runtime.containers if ran.name in own]
    await end(driver, [plan(ran, pod, 0) for ran in alive(runtime) if ran.name in own])
    last = {source.id for source in sources}
    await asyncio.gather(*(client.remove_container(ran.id) for ran in here if ran.id not in last))
    await asyncio.gather(*(client.remove_container(source) for source in last))


async def pull(driver: PodDriver, pod: Pod, container: Specified) -> ImageReady:
    """Have the image on the node. Raises StartFailed."""
    began = driver.worker.clock()
    found = await driver.worker.maker.image(pod, container)
    if found.pulled:
        driver.pulls = [*driver.pulls, (began, driver.worker.clock())][-PULLS_TOLD:]
    return found


async def start(driver: PodDriver, pod: Pod, actions: Actions, images: dict[str, asyncio.Task[ImageReady]]) -> bool:
    turn = driver.worker.maker.turn()
    try:
        await driver.unless_leaving(turn.take())
        if actions.create_sandbox:
            try:
                making = driver.worker.maker.sandbox(pod, actions.attempt, driver.place)
                driver.made_sandboxes = [await driver.unless_leaving(making)]
            except StartFailed as failure:
                driver.stale = True
                driver.worker.event(driver, "Warning", "FailedCreatePodSandBox", failure.message)
                driver.wait_for_all("ContainerCreating", failure.message)
                driver.held[""] = driver.again(failure.message)
                return False
            for reason, text in driver.worker.maker.dns_complaints(pod):
                driver.worker.event(driver, "Warning", reason, text)
            driver.wait_no_longer("ContainerCreating")
            await driver.look_again()
        for ran in actions.resume:
            await resume(driver, pod, ran, turn)
        results = [await begin(driver, pod, start, images[start.container.name], turn) for start in actions.start]
    finally:
        turn.give_up()
    return actions.create_sandbox or bool(actions.resume) or any(results)


async def resume(driver: PodDriver, pod: Pod, ran: Container, turn: Turn) -> None:
    container = find_container(pod, ran.name)
    if container is None:
        return
    await driver.unless_leaving(turn.take())
    try:
        await driver.worker.maker.begin(pod, container, ran.id, ran.restart_count)
    except StartFailed as failure:
        failed(driver, container.name, failure)
        return
    driver.waiting.pop(container.name, None)
    await post_start(driver, pod, container, ran.id, turn)


async def begin(driver: PodDriver, pod: Pod, start: Start, image: asyncio.Task[ImageReady], turn: Turn) -> bool:
    """Start one container; whether the runtime was changed."""
    name, began = start.container.name, time.monotonic()
    count = start.restart_count
    if not count:
        # the runtime may have forgotten what its logs still show
        count = files.highest_log_number(driver.worker.agent.pod_logs_dir, pod, name) + 1
        start = Start(start.container, count, driver.rows.pop(name, start.row))
    if not image.done():
        turn.give_up()
    try:
        found = await driver.unless_leaving(image)
        await driver.unless_leaving(turn.take())
        runtime = driver.runtime
        assert runtime is not None  # noqa: S101 - looked at before
        container_id = await driver.worker.maker.container(pod, start, found, runtime, driver.place)
    except StartFailed as failure:
        failed(driver, name, failure)
        return failure.reason in ("RunContainerError", "CreateContainerError")
    driver.made_containers[container_id] = runtime.sandboxes[0].id
    driver.waiting.pop(name, None)
    driver.worker.metrics.observe(
        "kubelet_runtime_operations_duration_seconds", time.monotonic() - began, operation_type="start"
    )
    driver.worker.event(driver, "Normal", "Started", "Container started", name)
    await post_start(driver, pod, start.container, container_id, turn)
    return True


async def post_start(driver: PodDriver, pod: Pod, container: Specified, container_id: str, turn: Turn) -> None:
    """Run the container's hook, if it has one; when that fails the container is ended, as if it had failed itself."""
    if container.lifecycle is None or container.lifecycle.postStart is None:
        return
    turn.give_up()
    driver.unfinished.post_start.add(container_id)
    ips = driver.runtime.sandboxes[0].ips if driver.runtime and driver.runtime.sandboxes else []
    complaint = await driver.unless_leaving(driver.worker.maker.post_start(container, container_id, ips))
    driver.unfinished.post_start.discard(container_id)
    if not complaint:
        return
    driver.worker.event(driver, "Warning", "FailedPostStartHook", complaint, container.name)
    driver.verdicts = Verdicts({**driver.verdicts.unhealthy, container_id: POST_START}, driver.verdicts.started)
    runtime = await driver.look()
    ran = next((one for one in alive(runtime) if one.id == container_id), None)
    try:
        if ran is not None:
            await end(driver, [plan(ran, pod)])
    finally:
        driver.waiting[container.name] = Waiting("PostStartHookError", complaint)


async def owed_hooks(driver: PodDriver) -> bool:
    """Run the postStart hooks that broke off, or that wait for a start that was never answered (they are run at least
    once); whether there were any."""
    pod, runtime, owed = driver.the_pod(), driver.runtime, driver.unfinished.post_start
    found = [ran for ran in runtime.containers if ran.id in owed and is_running(ran)] if runtime is not None else []
    for ran in found:
        owed.discard(ran.id)
        container = find_container(pod, ran.name)
        if container is not None:
            await post_start(driver, pod, container, ran.id, driver.worker.maker.turn())
    return bool(found)


def failed(driver: PodDriver, name: str, failure: StartFailed) -> None:
    driver.stale = True  # what it left in the runtime, if anything, counts for the next try
    if failure.container_id:
        driver.unfinished.post_start.add(failure.container_id)
    known = driver.waiting.get(name)
    driver.waiting[name] = Waiting(failure.reason, failure.message)
    if known is None or known.reason != failure.reason:
        for kind, reason, text in of_failed_start(failure.reason, failure.message):
            driver.worker.event(driver, kind, reason, text, name)
    if failure.retry:
        # looked at sooner, so that users are told that it waits, and why
        driver.held[name] = driver.worker.clock() + min(failure.retry, TOLD_SECONDS)
        driver.at(driver.held[name])
    else:
        driver.held[name] = driver.again(failure.message)
