"""Drives one pod from admission to its last trace. Decisions are elsewhere (`actions`, `table`, `ending`, `garbage`).

A driver is a task of its worker: one pod's slow call delays no other. It wakes when it is told something new, does all
that can be done, and sleeps until the next thing is due. What it asks of other actors may be asked again by its next
incarnation; what it asks of the runtime is found again there.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from actors.container_manager.messages import AdmitPod, PodAdmitted, PodRejected, PodReleased, ReleasePod, StopCounting
from actors.cri.errors import CriError
from actors.cri.model import Container, PodRuntime
from actors.image_manager.messages import ImageReady
from actors.kube.pod import Pod
from actors.kube.pods import find_container, is_static
from actors.prober.messages import ProbedPod
from actors.status_manager.messages import PodObserved, Waiting
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted, VolumesUnmounted
from supervision.actor import AskError
from supervision.message import Message

from . import files, garbage, observing
from .actions import Actions, Backoff, Start, Verdicts, compute, earliest
from .ending import alive, end_all, plan
from .messages import KillPod
from .starting import PodPlace, StartFailed
from .sysctls import forbidden
from .table import Event, Stage, step

if TYPE_CHECKING:
    from .actor import Worker

T = TypeVar("T")
ADMIT_SECONDS = 10.0
VOLUME_SECONDS = 130.0
SAME_NAME_SECONDS = 0.3
RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 10.0


class Left(Exception):
    """The pod is to end: what was being waited for does not matter any more."""


class PodDriver:
    """One pod. `pod` is None for one that only the runtime knows."""

    def __init__(self, worker: Worker, uid: str, runtime: PodRuntime | None = None) -> None:
        self.worker, self.uid = worker, uid
        self.pod: Pod | None = None
        self.data = b""
        self.stage = Stage.ADMITTING
        self.runtime: PodRuntime | None = runtime
        self.removed = False
        self.kill: KillPod | None = None
        self.waiting: dict[str, Waiting] = {}
        self.verdicts = Verdicts()
        self._place = PodPlace(cgroup_parent="")
        self._wake = asyncio.Event()
        self._leaving = asyncio.Event()
        self._due: float | None = 0.0
        self._failures = 0
        self._observed: PodObserved | None = None
        self._probed: ProbedPod | None = None
        self._reason = ("", "")
        self._admitted = False

    # -- what it is told ------------------------------------------------------------------------------------------
    def want(self, pod: Pod, data: bytes) -> None:
        """This is what the pod should be now."""
        if data == self.data and not self.removed:
            return
        self.pod, self.data, self.removed = pod, data, False
        if pod.metadata.deletionTimestamp is not None:
            self._leaving.set()
        self.poke()

    def remove(self) -> None:
        """No source has it any more."""
        if not self.removed:
            self.removed = True
            self._leaving.set()
            self.poke()

    def end(self, order: KillPod) -> None:
        """Evicted or the like; the first order counts."""
        if self.kill is None:
            self.kill = order
            self._leaving.set()
            self.poke()

    def seen(self, runtime: PodRuntime) -> None:
        """The runtime changed, as the PLEG saw it; older than our own look: ignored."""
        if self.runtime is None or runtime.at > self.runtime.at:
            self.runtime = self.worker.with_messages(runtime, self.pod)
            self.poke()

    def verdict(self, container_id: str, kind: str, success: bool) -> None:
        """A probe came to a result."""
        unhealthy = {
            key: value for key, value in self.verdicts.unhealthy.items() if key != container_id or value != kind
        }
        started = self.verdicts.started
        if not success:
            unhealthy[container_id] = kind
        elif kind == "startup":
            started = started | {container_id}
        verdicts = Verdicts(unhealthy, started)
        if verdicts != self.verdicts:
            self.verdicts = verdicts
            self.poke()

    def poke(self) -> None:
        """Look again now."""
        self._wake.set()

    # -- the loop -------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Until nothing of the pod is left."""
        while self.stage is not Stage.FINISHED:
            await self._sleep()
            self._due = None
            failures = self._failures
            try:
                await self._step()
            except Left:
                self.poke()
            except (CriError, AskError) as error:
                self._again(str(error))
            if self._failures == failures:
                self._failures = 0
            self.publish()

    async def _sleep(self) -> None:
        resync = self.worker.sync_seconds * (1 + 0.5 * random.random())  # noqa: S311 - spreads the load
        timeout = resync if self._due is None else max(0.0, min(resync, self._due - time.time()))
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    def _again(self, why: str, seconds: float = 0.0) -> None:
        """Try again: after the time given, or one that grows with each failure in a row."""
        self._failures += 1
        pause = seconds or min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (self._failures - 1))
        self.worker.log.info("pod %s: tried again in %.1f s: %s", self.label, pause, why)
        self._at(time.time() + pause)

    def _at(self, when: float) -> None:
        self._due = when if self._due is None else min(self._due, when)

    @property
    def label(self) -> str:
        if self.pod is not None:
            return f"{self.pod.metadata.namespace}/{self.pod.metadata.name} ({self.uid})"
        known = self.runtime
        return f"{known.namespace}/{known.name} ({self.uid})" if known is not None else self.uid

    async def _step(self) -> None:
        if self.stage in (Stage.ADMITTING, Stage.RUNNING) and self._must_leave():
            self._go(Event.LEAVE)
        if self.stage is Stage.ADMITTING:
            await self._admit()
        if self.stage is Stage.RUNNING:
            await self._sync()
        if self.stage is Stage.REJECTED and self.removed:
            self._go(Event.LEAVE)
        if self.stage is Stage.TERMINATING:
            await self._terminate()
        if self.stage is Stage.TERMINATED:
            await self._clean()
        if self.stage is Stage.ENDED:
            await self._rest()

    def _go(self, event: Event) -> None:
        self.stage = step(self.stage, event)
        self.publish()

    def _must_leave(self) -> bool:
        if self.pod is None or self.removed or self.pod.metadata.deletionTimestamp is not None:
            return True
        if self.kill is not None:
            self._reason = (self.kill.reason, self.kill.message)
            return True
        limit = self.pod.spec.activeDeadlineSeconds
        if limit is not None and self.runtime is not None and self.runtime.sandboxes:
            began = min(sandbox.created_ns for sandbox in self.runtime.sandboxes) / 1e9
            if time.time() >= began + limit:
                self._reason = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
                return True
            self._at(began + limit)
        return False

    async def _unless_leaving(self, work: Awaitable[T]) -> T:
        """Wait for something that does not matter once the pod is to end. Raises Left then."""
        if self._leaving.is_set():
            raise Left
        task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Left
            return task.result()
        finally:
            for one in (task, leaving):
                if not one.done():
                    one.cancel()

    # -- admission ------------------------------------------------------------------------------------------------
    async def _admit(self) -> None:
        pod = self._pod()
        if self.runtime is None:
            self.runtime = await self.worker.look(self.uid)
        if is_static(pod) and not self.runtime.sandboxes and await self.worker.namesake_runs(pod):
            # an edited static pod has a new UID: never two of one name at once
            self._at(time.time() + SAME_NAME_SECONDS)
            return
        reason = forbidden(pod, self.worker.agent.config.allowedUnsafeSysctls)
        if reason:
            self._refuse("SysctlForbidden", reason)
            return
        volumes = asyncio.ensure_future(self._mount(pod))
        try:
            question = AdmitPod(self.uid, self.data, running=bool(alive(self.runtime)))
            answer = await self._unless_leaving(self._ask("container_manager", question, ADMIT_SECONDS))
            if isinstance(answer, PodRejected):
                self._refuse(answer.reason, answer.message)
                return
            if not isinstance(answer, PodAdmitted):
                raise AskError(f"container_manager answered {type(answer).__name__}")
            self._admitted = True
            paths = await self._unless_leaving(volumes)
        finally:
            if not volumes.done():
                volumes.cancel()
        if paths is None:
            return
        self._place = PodPlace(cgroup_parent=answer.cgroup_parent, volumes=paths)
        self._go(Event.ADMITTED)

    def _refuse(self, reason: str, message: str) -> None:
        self._reason = (reason, f"Pod was rejected: {message}")
        self.worker.event(self, "Warning", reason, message)
        self._go(Event.REFUSED)

    async def _mount(self, pod: Pod) -> dict[str, str] | None:
        """Host paths of the volumes; None when they are not there yet."""
        if not pod.spec.volumes:
            return {}
        answer = await self._ask("volume_manager", MountVolumes(self.uid, self.data), VOLUME_SECONDS)
        if isinstance(answer, VolumesMounted):
            return answer.paths
        text = answer.message if isinstance(answer, VolumesFailed) else f"answered {type(answer).__name__}"
        self.worker.event(self, "Warning", "FailedMount", text)
        self._wait_for_all("ContainerCreating", text)
        self._again(text)
        return None

    def _wait_for_all(self, reason: str, message: str) -> None:
        self.waiting = {container.name: Waiting(reason, message) for container in self._pod().spec.containers}

    @property
    def admitted(self) -> bool:
        """Whether the container manager counts this pod."""
        return self._admitted

    async def _ask(self, name: str, question: Message, seconds: float) -> Message:
        return await self.worker.ask(name, question, Message, timeout=seconds)

    # -- running --------------------------------------------------------------------------------------------------
    async def _sync(self) -> None:
        """Do what is to be done, look, and again, until nothing is."""
        for _ in range(20):
            if self._must_leave():
                self._go(Event.LEAVE)
                return
            runtime = self.runtime or await self._look()
            pod = self._pod()
            with self.worker.journal.hand(self.worker.key(self)):
                actions = compute(pod, runtime, self.verdicts, time.time(), self.worker.maximum_backoff)
            self._note_backoffs(actions)
            if actions.done:
                self._go(Event.LEAVE)
                return
            if not await self._perform(actions):
                break
            await self._look()
            self.publish()
        await self._collect(keep=1)

    def _note_backoffs(self, actions: Actions) -> None:
        due = earliest(actions.backoff)
        if due:
            self._at(due)
        names = {backoff.name for backoff in actions.backoff}
        for backoff in actions.backoff:
            if self.waiting.get(backoff.name, Waiting("")).reason != "CrashLoopBackOff":
                self.worker.event(self, "Warning", "BackOff", f"Back-off restarting failed container {backoff.name}")
            self.waiting[backoff.name] = Waiting("CrashLoopBackOff", self._backoff_text(backoff))
        for name in [
            name for name, why in self.waiting.items() if why.reason == "CrashLoopBackOff" and name not in names
        ]:
            del self.waiting[name]

    def _backoff_text(self, backoff: Backoff) -> str:
        pause = max(0, round(backoff.until - backoff.last.finished_ns / 1e9))
        return f"back-off {pause}s restarting failed container={backoff.name} pod={self.label}"

    async def _perform(self, actions: Actions) -> bool:
        """Carry out; whether anything was done that changes the runtime."""
        pod, runtime = self._pod(), self.runtime or PodRuntime(uid=self.uid)
        if actions.kill_pod:
            await self._stop_all(runtime, pod)
        if actions.kill:
            endings = [plan(kill.container, pod, None, kill.probe) for kill in actions.kill]
            for kill in actions.kill:
                self.worker.event(self, "Normal", "Killing", kill.why, kill.container.name)
            await end_all(self.worker.client, pod, endings, self._ip(), self._say)
            return True
        if not (actions.create_sandbox or actions.start or actions.resume):
            return False
        if not self.worker.network_ready and not pod.spec.hostNetwork and actions.create_sandbox:
            self._wait_for_all("ContainerCreating", f"network is not ready: {self.worker.runtime_message}")
            self._at(time.time() + RETRY_SECONDS)
            return False
        images = {
            start.container.name: asyncio.ensure_future(self.worker.maker.image(pod, start.container))
            for start in actions.start
        }
        try:
            return await self._start(pod, actions, images)
        finally:
            for image in images.values():
                if not image.done():
                    image.cancel()
                elif not image.cancelled():
                    image.exception()

    async def _start(self, pod: Pod, actions: Actions, images: dict[str, asyncio.Task[ImageReady]]) -> bool:
        async with self.worker.maker.slots:
            if actions.create_sandbox:
                try:
                    await self.worker.maker.sandbox(pod, actions.attempt, self._place)
                except StartFailed as failure:
                    self.worker.event(self, "Warning", "FailedCreatePodSandBox", failure.message)
                    self._wait_for_all("ContainerCreating", failure.message)
                    self._again(failure.message)
                    return False
                await self._look()
            for ran in actions.resume:
                await self._resume(pod, ran)
            results = [await self._begin(pod, start, images[start.container.name]) for start in actions.start]
        return actions.create_sandbox or bool(actions.resume) or any(results)

    async def _resume(self, pod: Pod, ran: Container) -> None:
        container = find_container(pod, ran.name)
        if container is None or self.runtime is None:
            return
        ips = self.runtime.sandboxes[0].ips
        try:
            await self.worker.maker.begin(pod, container, ran.id, ran.restart_count, ips)
        except StartFailed as failure:
            self._failed(container.name, failure)

    async def _begin(self, pod: Pod, start: Start, image: asyncio.Task[ImageReady]) -> bool:
        """Start one container; whether the runtime was changed."""
        name, began = start.container.name, time.monotonic()
        count = start.restart_count
        if not count:
            # the runtime may have forgotten what its logs still show
            count = files.highest_log_number(self.worker.agent.pod_logs_dir, pod, name) + 1
            start = Start(start.container, count, start.init)
        try:
            found = await self._unless_leaving(image)
            assert self.runtime is not None  # noqa: S101 - looked at before
            container_id, complaint = await self.worker.maker.container(pod, start, found, self.runtime, self._place)
        except StartFailed as failure:
            self._failed(name, failure)
            return failure.reason in ("RunContainerError", "CreateContainerError")
        self.waiting.pop(name, None)
        self.worker.metrics.observe(
            "kubelet_runtime_operations_duration_seconds", time.monotonic() - began, operation_type="start"
        )
        self.worker.event(self, "Normal", "Started", f"Container {name} started", name)
        if complaint:
            await self._hook_failed(pod, name, container_id, complaint)
        return True

    async def _hook_failed(self, pod: Pod, name: str, container_id: str, complaint: str) -> None:
        """A container whose postStart hook failed is ended, as if it had failed itself."""
        self.worker.event(self, "Warning", "FailedPostStartHook", complaint, name)
        runtime = await self._look()
        ran = next((one for one in runtime.containers if one.id == container_id), None)
        if ran is not None:
            await end_all(self.worker.client, pod, [plan(ran, pod)], self._ip(), self._say)
        self.waiting[name] = Waiting("PostStartHookError", complaint)

    def _failed(self, name: str, failure: StartFailed) -> None:
        known = self.waiting.get(name)
        self.waiting[name] = Waiting(failure.reason, failure.message)
        if known is None or known.reason != failure.reason:
            self.worker.event(self, "Warning", "Failed", failure.message, name)
        if failure.retry:
            self._at(time.time() + failure.retry)
        else:
            self._again(failure.message)

    # -- ending ---------------------------------------------------------------------------------------------------
    async def _terminate(self) -> None:
        """End every container, then the sandboxes, until the runtime agrees that all are gone."""
        runtime = await self._look()
        if self.pod is not None and alive(runtime):
            self.worker.event(self, "Normal", "Killing", "Stopping all containers of the pod")
        await self._stop_all(runtime, self.pod, self.kill.grace_seconds if self.kill else None)
        runtime = await self._look()
        if alive(runtime) or any(sandbox.ready for sandbox in runtime.sandboxes):
            self._again("the runtime still has running containers or a sandbox of it")
            return
        self.waiting = {}
        self._go(Event.STOPPED)

    async def _stop_all(self, runtime: PodRuntime, pod: Pod | None, grace: int | None = None) -> None:
        endings = [plan(ran, pod, grace) for ran in alive(runtime)]
        errors = await end_all(self.worker.client, pod, endings, self._ip(), self._say)
        if errors:
            raise errors[0]
        ready = [sandbox.id for sandbox in runtime.sandboxes if sandbox.ready]
        await asyncio.gather(*(self.worker.client.stop_pod_sandbox(sandbox_id) for sandbox_id in ready))

    async def _clean(self) -> None:
        """Give back resources, volumes and the cgroup."""
        self.worker.tell("container_manager", StopCounting(self.uid))
        answer = await self._ask("volume_manager", UnmountVolumes(self.uid), VOLUME_SECONDS)
        if not isinstance(answer, VolumesUnmounted):
            text = answer.message if isinstance(answer, VolumesFailed) else type(answer).__name__
            self.worker.event(self, "Warning", "FailedUnmount", text)
            self._again(f"volumes: {text}")
            return
        released = await self._ask("container_manager", ReleasePod(self.uid), ADMIT_SECONDS)
        if isinstance(released, PodReleased) and released.message:
            self.worker.log.info("pod %s: its cgroup: %s", self.label, released.message)
        self._admitted = False
        self._go(Event.CLEANED)

    async def _rest(self) -> None:
        """Keep the last instance of each container for as long as a source has the pod; then leave no trace."""
        if not (self.removed or self.pod is None):
            await self._collect(keep=1)
            return
        runtime = await self._look()
        client = self.worker.client
        await asyncio.gather(*(client.remove_container(ran.id) for ran in runtime.containers))
        for sandbox in runtime.sandboxes:
            await client.remove_pod_sandbox(sandbox.id)
        name, namespace = (
            (self.pod.metadata.name, self.pod.metadata.namespace) if self.pod else (runtime.name, runtime.namespace)
        )
        await self.worker.remove_traces(self.uid, namespace, name)
        self._go(Event.FORGOTTEN)

    async def _collect(self, keep: int) -> None:
        """Remove dead containers and sandboxes that nobody needs any more."""
        runtime, pod = self.runtime, self.pod
        if runtime is None or pod is None:
            return
        dead, client, agent = garbage.dead_containers(runtime, keep), self.worker.client, self.worker.agent
        sandboxes = garbage.dead_sandboxes(runtime, keep_newest=True)
        for ran in dead:
            await client.remove_container(ran.id)
            files.remove_log(agent.container_logs_dir, agent.pod_logs_dir, pod, ran)
        for sandbox in sandboxes:
            await client.remove_pod_sandbox(sandbox.id)
        if dead or sandboxes:
            await self._look()

    # -- shared ---------------------------------------------------------------------------------------------------
    def _pod(self) -> Pod:
        if self.pod is None:
            raise Left
        return self.pod

    def _ip(self) -> str:
        sandboxes = self.runtime.sandboxes if self.runtime is not None else []
        return sandboxes[0].ips[0] if sandboxes and sandboxes[0].ips else "127.0.0.1"

    def _say(self, text: str) -> None:
        self.worker.event(self, "Warning", "FailedPreStopHook", text)

    async def _look(self) -> PodRuntime:
        self.runtime = await self.worker.look(self.uid)
        return self.runtime

    def publish(self, *, again: bool = False) -> None:
        """Tell the status manager and the prober what has changed; `again`: everything."""
        observed = observing.observed(self, self._reason)
        if again or not observing.same(self._observed, observed):
            self._observed = observed
            self.worker.tell("status_manager", observed)
        probed = observing.probed(self)
        if probed is not None and (again or probed != self._probed):
            self._probed = probed
            self.worker.tell("prober", probed)
