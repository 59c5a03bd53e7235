"""Whether a pod may run here: names, sysctls, resources, and its volumes on the way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from actors.api_clients.messages import ObjectRef
from actors.container_manager.messages import CONTAINER_MANAGER, AdmitPod, PodAdmitted, PodRejected
from actors.pod_workers.admission.node_fit import asks, read_node, unfit
from actors.pod_workers.admission.node_support import Support, unsupported
from actors.pod_workers.admission.sysctls import forbidden
from actors.pod_workers.containers.api_objects import state_of
from actors.pod_workers.phases.termination_plan import alive, unborn
from actors.pod_workers.pod.table import Event
from actors.shared.config.fields.shutdown_windows import windows
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError

from . import resizing
from .container_starter import PodPlace
from .synchronization import decide

if TYPE_CHECKING:
    from .pod_worker import PodDriver

ADMIT_SECONDS = 10.0
VOLUME_SECONDS = 130.0
MOUNT_TOLD_SECONDS = 123.0
"""So long volumes may take before users are told which the pod still waits for, and then again each time."""
SAME_NAME_SECONDS = 0.3


async def admit(driver: PodDriver) -> None:
    """Find out whether the pod may run, and have its volumes made meanwhile."""
    pod = driver.the_pod()
    if driver.stale:
        await driver.look()
    assert driver.runtime is not None  # noqa: S101 - looked at
    if is_static(pod) and not driver.runtime.sandboxes and await driver.worker.namesake_runs(pod):
        # an edited static pod has a new UID: never two of one name at once
        driver.at(driver.worker.clock() + SAME_NAME_SECONDS)
        return
    if driver.runtime.sandboxes and decide(driver, driver.runtime).done:
        await ask_why(driver)
        driver.go(Event.LEAVE)  # it has run to its end before this incarnation
        return
    reason, text = await judge(driver, pod)
    if reason:
        refuse(driver, reason, text)
        return
    volumes = asyncio.ensure_future(mount(driver, pod))
    try:
        question = AdmitPod(driver.uid, driver.data, running=bool(alive(driver.runtime) or unborn(driver.runtime)))
        answer = await driver.unless_leaving(driver.ask(CONTAINER_MANAGER, question, ADMIT_SECONDS))
        if isinstance(answer, PodRejected):
            refuse(driver, answer.reason, answer.message)
            return
        if not isinstance(answer, PodAdmitted):
            raise AskError(f"container_manager answered {type(answer).__name__}")
        driver.in_ledger = True
        paths = await driver.unless_leaving(volumes)
    finally:
        if not volumes.done():
            volumes.cancel()
    if paths is None:
        return
    resizing.admitted(driver)
    driver.wait_no_longer("ContainerCreating")
    driver.place = PodPlace(cgroup_parent=answer.cgroup_parent, volumes=paths)
    driver.go(Event.ADMITTED)


async def ask_why(driver: PodDriver) -> None:
    """Where a shutdown of the node may have ended it: raises AskError if it was that, then the order to end it comes,
    with the reason."""
    if windows(driver.worker.agent.config):
        question = AdmitPod(driver.uid, driver.data, over=True)
        answer = await driver.unless_leaving(driver.ask(CONTAINER_MANAGER, question, ADMIT_SECONDS))
        if not isinstance(answer, PodAdmitted):
            raise AskError("the shutdown of the node ends it")


async def judge(driver: PodDriver, pod: Pod) -> tuple[str, str]:
    """Why this node must not run it: reason and message, '' when it may. Raises CriError."""
    text = forbidden(pod, driver.worker.agent.config.allowedUnsafeSysctls)
    if text:
        return "SysctlForbidden", text
    reason, text = await misfit(driver, pod)
    if reason:
        return reason, text
    strict = pod.spec.securityContext.supplementalGroupsPolicy == "Strict"
    groups = strict and (await driver.worker.client.status()).supplemental_groups_policy
    return unsupported(pod, Support(apparmor=driver.worker.apparmor, strict_groups=groups))


async def misfit(driver: PodDriver, pod: Pod) -> tuple[str, str]:
    """What the Node object has against it. A pod that runs is left alone, and so is one that nothing is known against
    because the API server cannot be asked: the scheduler has judged it already."""
    agent = driver.worker.agent
    if agent.standalone or not asks(pod) or (driver.runtime is not None and alive(driver.runtime)):
        return "", ""
    state = await driver.unless_leaving(state_of(driver.worker, ObjectRef("Node", agent.node_name)))
    node = read_node(state.body) if state.body else None
    return unfit(pod, node) if node is not None else ("", "")


def refuse(driver: PodDriver, reason: str, message: str) -> None:
    driver.reason = (reason, f"Pod was rejected: {message}")
    driver.worker.event(driver, "Warning", reason, message)
    driver.go(Event.REFUSED)


async def mount(driver: PodDriver, pod: Pod) -> dict[str, str] | None:
    """Host paths of the volumes; None when they are not there yet."""
    if not pod.spec.volumes:
        return {}
    answer = await driver.ask(VOLUME_MANAGER, MountVolumes(driver.uid, driver.data), VOLUME_SECONDS)
    if isinstance(answer, VolumesMounted):
        return answer.paths
    if not isinstance(answer, VolumesFailed):
        raise AskError(f"volume_manager answered {type(answer).__name__}")
    tell_of_volumes(driver, answer)
    driver.wait_for_all("ContainerCreating", answer.message)
    driver.again(answer.message)
    return None


def tell_of_volumes(driver: PodDriver, failed: VolumesFailed) -> None:
    """Each failure by itself; and now and then what the pod still waits for."""
    now = driver.worker.clock()
    if driver.volumes_due is None:
        driver.volumes_due = now + MOUNT_TOLD_SECONDS
    for text in failed.texts or [failed.message]:
        driver.worker.event(driver, "Warning", "FailedMount", text)
    if now >= driver.volumes_due:
        driver.volumes_due = now + MOUNT_TOLD_SECONDS
        driver.worker.event(driver, "Warning", "FailedMount", overdue(failed.volumes))


def overdue(volumes: list[str]) -> str:
    """In the reference's words."""
    lists = f"unmounted volumes=[{' '.join(sorted(volumes))}], unattached volumes=[], failed to process volumes=[]"
    return f"Unable to attach or mount volumes: {lists}: context deadline exceeded"
