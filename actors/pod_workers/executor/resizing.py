"""A resize in place (KEP-1287): room is asked for, the pod's cgroup and its containers follow, and users are told.

What was allocated is in the pod's directory (see `allocation`), what a container was made with on itself; a worker that
dies on the way brings a container to what was allocated once more, which changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.container_manager.messages import CONTAINER_MANAGER, AdmitPod, PodAdmitted, PodRejected, ResizePod
from actors.pod_workers.containers import allocation
from actors.pod_workers.phases.termination_plan import plan
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_limits, is_sidecar
from actors.status_manager.messages import Resize
from supervision.actor import AskError
from supervision.message import Message

from .termination import end

if TYPE_CHECKING:
    from .pod_worker import PodDriver

ASK_SECONDS = 10.0
SWAPPED = "In-place resize of containers with swap is not supported."
DEFERRED_SECONDS = 5.0
"""Until room is asked for again."""


class Resizing:
    """Of one driver: what its pod was given, what it is to have, and how far that is."""

    def __init__(self) -> None:
        self.allocated: allocation.Allocated | None = None
        """None: no resources, or not admitted yet."""
        self.desired: Pod | None = None
        """The pod with its spec's resources, while these are others than the allocated ones."""
        self.actuated: dict[str, ResourceRequirements] = {}
        """By the ids of containers that were resized."""
        self.pending = ("", "")
        self.under_way = False
        self.error = ""

    def told(self) -> Resize | None:
        """For the status; None for nothing to tell."""
        if not (self.pending[0] or self.under_way):
            return None
        return Resize(*self.pending, in_progress=self.under_way, error=self.error)


def as_allocated(driver: PodDriver, pod: Pod, data: bytes) -> tuple[Pod, bytes]:
    """The pod with what it was given, which is what it is run with; what its spec asks for is then to be done."""
    state, wanted = driver.resizing, allocation.of(pod)
    if state.allocated is None and wanted:
        kept = allocation.read(driver.worker.agent.pod_dir(driver.uid))
        if kept is not None:
            state.allocated, state.actuated = kept.allocated, kept.actuated
    if state.allocated is None or allocation.same(state.allocated, wanted):
        state.desired, state.pending = None, ("", "")
        return pod, data
    state.desired = pod
    given = allocation.with_resources(pod, state.allocated)
    return given, encode(given)


def admitted(driver: PodDriver) -> None:
    """The pod has the room that it asked for at first."""
    state, wanted = driver.resizing, allocation.of(driver.the_pod())
    if state.allocated is None and wanted:
        state.allocated = wanted
        _keep(driver)


def _keep(driver: PodDriver) -> None:
    state = driver.resizing
    if state.allocated is not None:
        kept = allocation.Kept(state.allocated, state.actuated)
        allocation.write(driver.worker.agent.pod_dir(driver.uid), kept)


async def resize(driver: PodDriver) -> None:
    """Do what is to be done of it. What fails is tried again, and the pod cared for as it is. Raises Left, OSError."""
    if driver.resizing.desired is not None:
        try:
            await _allocate(driver, driver.resizing.desired)
        except AskError as error:
            driver.again(str(error))
    await _actuate(driver)


async def _allocate(driver: PodDriver, desired: Pod) -> None:
    """Ask for room."""
    state, data = driver.resizing, encode(desired)
    answer: Message = PodRejected(driver.uid, "Infeasible", SWAPPED)
    if not _swapped(driver, desired):
        question = ResizePod(driver.uid, data, driver.data)
        answer = await driver.unless_leaving(driver.ask(CONTAINER_MANAGER, question, ASK_SECONDS))
    if driver.resizing.desired is not desired:
        return  # asked for something else meanwhile
    if isinstance(answer, PodRejected):
        if state.pending != (answer.reason, answer.message):
            driver.worker.event(driver, "Warning", f"Resize{answer.reason}", answer.message)
        state.pending = (answer.reason, answer.message)
        if answer.reason == "Deferred":
            driver.at(driver.worker.clock() + DEFERRED_SECONDS)
        return
    if not isinstance(answer, PodAdmitted):
        raise AskError(f"container_manager answered {type(answer).__name__}")
    state.allocated = allocation.of(desired)
    _keep(driver)
    driver.pod, driver.data = desired, data
    state.desired, state.pending, state.under_way = None, ("", ""), True
    driver.renew_volumes()
    driver.worker.event(driver, "Normal", "ResizeStarted", "Pod resize started")
    driver.publish()


def _swapped(driver: PodDriver, desired: Pod) -> bool:
    """Whether the memory of a container that may be swapped was to change in place: its share of swap would too."""
    given = allocation.of(driver.the_pod())
    for container in (*desired.spec.initContainers, *desired.spec.containers):
        names = allocation.resized(given.get(container.name, ResourceRequirements()), container.resources)
        in_place = "memory" in names and not _by_restart(container, ["memory"])
        if in_place and driver.worker.maker.may_swap(driver.the_pod(), container.name):
            return True
    return False


def outdated(driver: PodDriver) -> list[tuple[Container, Ran, list[str]]]:
    """Containers that run with other resources than they were given, and which of these."""
    pod, runtime = driver.pod, driver.runtime
    if pod is None or runtime is None or driver.resizing.allocated is None:
        return []
    found = []
    for container in (*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers):
        ran = runtime.newest(container.name)
        if ran is not None and ran.state is ContainerState.RUNNING:
            names = allocation.resized(has(driver, container, ran), container.resources)
            if names:
                found.append((container, ran, names))
    return found


def has(driver: PodDriver, container: Container, ran: Ran) -> ResourceRequirements:
    """What this very container has."""
    return driver.resizing.actuated.get(ran.id) or allocation.made_with(ran) or container.resources


async def _actuate(driver: PodDriver) -> None:
    """Bring containers to what they were given: in place, or by a restart where their policy asks for one."""
    state, todo = driver.resizing, outdated(driver)
    if not (todo or state.under_way):
        return
    state.under_way = True
    try:
        await _restart(driver, [(one, ran) for one, ran, names in todo if _by_restart(one, names)])
        for container, ran, names in todo:
            if not _by_restart(container, names):
                await _update(driver, container, ran, names)
    except (CriError, _NoRoom) as error:
        if state.error != str(error):
            driver.worker.event(driver, "Warning", "ResizeError", f"Pod resize error: {error}")
        state.error = str(error)
        driver.again(state.error)  # and meanwhile the pod is cared for as it is
        return
    # the cgroup of the pod, which had the larger of both limits until now
    driver.worker.tell(CONTAINER_MANAGER, AdmitPod(driver.uid, driver.data, running=True), deadline=30.0)
    state.under_way, state.error = False, ""
    ids = {ran.id for ran in driver.runtime.containers} if driver.runtime is not None else set()
    state.actuated = {key: value for key, value in state.actuated.items() if key in ids}
    _keep(driver)
    driver.worker.event(driver, "Normal", "ResizeCompleted", "Pod resize completed")
    await driver.look()


async def _update(driver: PodDriver, container: Container, ran: Ran, names: list[str]) -> None:
    """In place. Raises CriError, _NoRoom."""
    client, limit = driver.worker.client, container_limits(container).get("memory", 0)
    if "memory" in names and limit:
        memory = (await client.container_stats(ran.id)).memory
        used = memory.working_set_bytes if memory is not None else None
        if used is not None and used > limit:
            raise _NoRoom(f"container {container.name}: memory limit {limit} is below its current usage {used}")
    await client.update_container_resources(ran.id, driver.worker.maker.resources(driver.the_pod(), container))
    driver.resizing.actuated[ran.id] = container.resources


class _NoRoom(Exception):
    """The kernel would kill a process of the container at once."""


def _by_restart(container: Container, names: list[str]) -> bool:
    policies = {each.resourceName: each.restartPolicy for each in container.resizePolicy}
    return any(policies.get(name) == "RestartContainer" for name in names)


async def _restart(driver: PodDriver, found: list[tuple[Container, Ran]]) -> None:
    """End them: they are begun again with what they were given."""
    if not found:
        return
    pod = driver.the_pod()
    for container, _ in found:
        text = f"Container {container.name} resize requires restart"
        driver.worker.event(driver, "Normal", "Killing", text, container.name)
    driver.unfinished.renewed |= {ran.id for _, ran in found}
    await end(driver, [plan(ran, pod) for _, ran in found])


def transitional(driver: PodDriver) -> dict[str, ResourceRequirements]:
    """By name: what those containers have that have not what they were given."""
    return {container.name: has(driver, container, ran) for container, ran, _ in outdated(driver)}
