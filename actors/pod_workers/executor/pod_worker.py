"""Drives one pod from admission to its last trace. Decisions are elsewhere (`actions`, `table`, `ending`, `garbage`).

A driver is a task of its worker: one pod's slow call delays no other. It wakes when it is told something new, does all
that can be done, and sleeps until the next thing is due. What it asks of other actors may be asked again by its next
incarnation; what it asks of the runtime is found again there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from actors.pod_workers.messages import KillPod
from actors.pod_workers.phases.pod_actions import Verdicts
from actors.pod_workers.phases.termination_plan import DEFAULT_GRACE_SECONDS
from actors.pod_workers.pod import observation
from actors.pod_workers.pod.table import Event, Stage, step
from actors.pod_workers.pod.unfinished import Unfinished
from actors.prober.messages import PROBER, ProbedPod
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import PodRuntime, is_running
from actors.shared.cri.restarts import RESTARTING_ALL
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import grace_period
from actors.status_manager.messages import STATUS_MANAGER, PodObserved, Waiting
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes
from supervision.actor import AskError, DisposableError
from supervision.addresses import ActorName
from supervision.message import Message

from . import admission, resizing, spans, synchronization, termination
from .container_starter import PodPlace

if TYPE_CHECKING:
    from actors.pod_workers.actor import Worker

T = TypeVar("T")
RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 10.0


class Left(Exception):
    """The pod is to end, or sooner than it was to: what was being waited for does not matter any more."""


class PodDriver:
    """One pod. `pod` is None for one that only the runtime knows."""

    def __init__(self, worker: Worker, uid: str, runtime: PodRuntime | None = None) -> None:
        self.worker, self.uid = worker, uid
        self.pod: Pod | None = None
        self.data = b""
        """The pod as it is run: with the resources that it was given."""
        self.source = b""
        """The pod as its source has it."""
        self.resizing = resizing.Resizing()
        self.stage = Stage.ADMITTING
        self.runtime: PodRuntime | None = runtime
        self.stale = True
        """The runtime may have more of it than `runtime` says. What the PLEG tells a new worker may be older than what
        the last one did."""
        self.removed = runtime is not None
        """No source has it; an orphan of the runtime never had one."""
        self.kill: KillPod | None = None
        self.waiting: dict[str, Waiting] = {}
        self.verdicts = Verdicts()
        self.held: dict[str, float] = {}
        """What could not be made (a container by its name, the sandbox by '') and until when it is not tried again,
        whatever wakes the driver meanwhile."""
        self.place = PodPlace(cgroup_parent="")
        self._wake = asyncio.Event()
        self._leaving = asyncio.Event()
        self.hurry = asyncio.Event()
        """It is to end sooner than it was told before."""
        self.made_sandboxes: list[str] = []
        """Ids of those that were made since the last look."""
        self.made_containers: dict[str, str] = {}
        """Id of each made since the last look, and of its sandbox."""
        self.rows: dict[str, int] = {}
        """Restarts in a row of containers that were removed with all others, for their next instances."""
        self.unfinished = Unfinished()
        self._due: float | None = 0.0
        self._synced = b""
        """The pod as it was when it was last brought nearer to what it should be."""
        self.failures = 0
        self.trouble = ""
        """Why the last try failed."""
        self.pulls: list[tuple[float, float]] = []
        """Begin and end of the pulls of its images, seconds since 1970."""
        self.volumes_due: float | None = None
        """When users are told that it still waits for its volumes."""
        self.unmounted = False
        """Its volumes are gone."""
        self._observed: PodObserved | None = None
        self._probed: ProbedPod | None = None
        self.reason = ("", "")
        self.in_ledger = False
        """The container manager counts its resources."""
        self.wanted_again = b""
        """The pod as a source has it again, while this one still ends."""

    # -- what it is told ------------------------------------------------------------------------------------------
    def want(self, pod: Pod, data: bytes) -> None:
        """This is what the pod should be now.

        One that is removed and comes again under its UID (a manifest put back as it was) first ends, then starts anew.
        """
        if data == self.source and not self.removed:
            return
        if self.deleted and pod.metadata.deletionTimestamp is None and not self.removed:
            return  # older than what is known: nothing takes a deletion back
        if self.removed and self.stage not in (Stage.ADMITTING, Stage.RUNNING):
            self.wanted_again = data
            return
        if self.removed:
            self._leaving.clear()
        before = self.seconds_left()
        self.source, self.removed = data, False
        self.pod, self.data = resizing.as_allocated(self, pod, data)
        self.held = {}
        self.renew_volumes()
        self._hurry_if_less(before)
        if pod.metadata.deletionTimestamp is not None:
            self._leaving.set()
        self.poke()

    def renew_volumes(self, *, again: bool = False) -> None:
        """Have the volumes that are made of what may change (labels, objects of the API) made anew, while it runs;
        `again`: the volume manager has forgotten all, those of drivers, too."""
        volumes = self.pod.spec.volumes if self.pod is not None and self.stage is Stage.RUNNING else []
        if any(one.downwardAPI or one.projected or one.secret or one.configMap for one in volumes) or (
            again and any(one.csi or one.persistentVolumeClaim or one.ephemeral != msgspec.Raw() for one in volumes)
        ):
            self.worker.tell(VOLUME_MANAGER, MountVolumes(self.uid, self.data), deadline=30.0)

    def remove(self) -> None:
        """No source has it any more."""
        self.wanted_again = b""
        if not self.removed:
            self.removed = True
            self._leaving.set()
            self.poke()

    def end(self, order: KillPod) -> None:
        """Evicted or the like; the first order counts, but the grace can only become less."""
        before = self.seconds_left()
        if self.kill is None:
            self.kill = order
        elif order.grace_seconds < self.kill.grace_seconds:
            self.kill = msgspec.structs.replace(self.kill, grace_seconds=order.grace_seconds)
        elif self._leaving.is_set():
            return  # orders are repeated: what waits for its next try goes on waiting
        self._leaving.set()
        self._hurry_if_less(before)
        self.poke()

    def seen(self, runtime: PodRuntime) -> None:
        """The runtime changed, as the PLEG saw it; older than our own look: ignored."""
        if self.runtime is None or runtime.at > self.runtime.at:
            self.runtime = observation.with_addresses(self.worker.with_messages(runtime, self.pod), self.runtime)
            self._no_longer_waiting(runtime)
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
        there = {ran.id for ran in self.runtime.containers} | {container_id} if self.runtime else {container_id}
        verdicts = Verdicts(unhealthy, started).of(there)
        if verdicts != self.verdicts:
            self.verdicts = verdicts
            self.poke()

    @property
    def override(self) -> int | None:
        """Seconds of grace, where somebody has ordered others than the pod asks for."""
        if self.kill is None:
            return None
        deletion = self.pod.metadata.deletionGracePeriodSeconds if self.pod is not None else None
        return self.kill.grace_seconds if deletion is None else min(deletion, self.kill.grace_seconds)

    def seconds_left(self) -> int:
        """Seconds of grace that its end may take."""
        own = grace_period(self.pod) if self.pod is not None else DEFAULT_GRACE_SECONDS
        return own if self.override is None else min(own, self.override)

    def _hurry_if_less(self, before: int) -> None:
        if self.seconds_left() < before:
            self.hurry.set()

    @property
    def deleted(self) -> bool:
        """The API server waits for its end to forget it."""
        return self.pod is not None and self.pod.metadata.deletionTimestamp is not None

    @property
    def unwanted(self) -> bool:
        """No source has it, or it is deleted."""
        return self.removed or self.pod is None or self.deleted

    def poke(self) -> None:
        """Look again now."""
        self._wake.set()

    # -- the loop -------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Until nothing of the pod is left."""
        while self.stage is not Stage.FINISHED:
            await self._sleep()
            self._due = None
            failures = self.failures
            try:
                await self._step()
            except Left:
                self.stale = True  # what was made before is in no look yet
                self.poke()
            except (CriError, AskError, DisposableError, OSError) as error:
                self.stale = True
                self.again(str(error))
            if self.failures == failures:
                self.failures, self.trouble = 0, ""
            self.publish()

    async def _sleep(self) -> None:
        """Until there is news, something is due, or the pod has not been looked at for long."""
        pause = self.worker.sync_seconds * (1 + 0.5 * self.worker.rng.random())
        if self._due is not None:
            pause = min(pause, self._due - self.worker.clock())
        if pause > 0:
            timer = self.worker.after(pause, self.poke)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
        self._wake.clear()

    def again(self, why: str) -> float:
        """Try again after a time that grows with each failure in a row; answers when that is."""
        self.failures += 1
        self.trouble = why
        pause: float = min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** min(self.failures - 1, 10))
        self.worker.log.info("pod %s: tried again in %.1f s: %s", self.label, pause, why)
        when = self.worker.clock() + pause
        self.at(when)
        return when

    def at(self, when: float) -> None:
        self._due = when if self._due is None else min(self._due, when)

    @property
    def label(self) -> str:
        if self.pod is not None:
            return f"{self.pod.metadata.namespace}/{self.pod.metadata.name} ({self.uid})"
        known = self.runtime
        return f"{known.namespace}/{known.name} ({self.uid})" if known is not None else self.uid

    async def _step(self) -> None:
        if self.stage in (Stage.ADMITTING, Stage.RUNNING) and self.must_leave():
            self.go(Event.LEAVE)
        if self.stage is Stage.ADMITTING:
            await admission.admit(self)
        if self.stage is Stage.RUNNING:
            update = "sync" if self.data == self._synced else "update" if self._synced else "create"
            self._synced = self.data
            with spans.of_pod(self, "syncPod", update):
                await synchronization.sync(self)
        if self.stage is Stage.REJECTED and (self.unwanted or termination.remains(self.runtime)):
            self.go(Event.LEAVE)
        if self.stage is Stage.TERMINATING:
            with spans.of_pod(self, "syncTerminatingPod"):
                await termination.terminate(self)
        if self.stage is Stage.TERMINATED:
            with spans.of_pod(self, "syncTerminatedPod"):
                await termination.clean(self)
        if self.stage is Stage.ENDED:
            await termination.rest(self)

    def go(self, event: Event) -> None:
        self.stage = step(self.stage, event)
        self.publish()

    def must_leave(self) -> bool:
        if self.pod is None or self.unwanted:
            return True
        if self.kill is not None:
            self.reason = (self.kill.reason, self.kill.message)
            return True
        if self.pod.status.phase in ("Failed", "Succeeded"):
            return True  # the API server has it as over; it is not begun again
        limit = self.pod.spec.activeDeadlineSeconds
        if limit is not None and self.runtime is not None and self.runtime.sandboxes:
            began = min(sandbox.created_ns for sandbox in self.runtime.sandboxes) / 1e9
            if self.worker.clock() >= began + limit:
                text = "Pod was active on the node longer than the specified deadline"
                if not self.reason[0]:
                    self.worker.event(self, "Normal", "DeadlineExceeded", text)
                self.reason = ("DeadlineExceeded", text)
                return True
            self.at(began + limit)
        return False

    async def unless_leaving(self, work: Awaitable[T]) -> T:
        """Wait for something that does not matter once the pod is to end. Raises Left then."""
        if self._leaving.is_set():
            if asyncio.iscoroutine(work):
                work.close()
            raise Left
        return await self.unless(self._leaving, work)

    async def unless(self, event: asyncio.Event, work: Awaitable[T]) -> T:
        """Wait for something, but give it up and raise Left when that happens first."""
        task, happening = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({task, happening}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Left
            return task.result()
        finally:
            for one in (task, happening):
                if not one.done():
                    one.cancel()

    def wait_for_all(self, reason: str, message: str) -> None:
        self.waiting = {container.name: Waiting(reason, message) for container in self.the_pod().spec.containers}

    async def ask(self, name: ActorName, question: Message, seconds: float) -> Message:
        return await self.worker.ask(name, question, Message, timeout=seconds)

    # -- shared ---------------------------------------------------------------------------------------------------
    def the_pod(self) -> Pod:
        if self.pod is None:
            raise Left
        return self.pod

    def ip(self) -> str:
        sandboxes = self.runtime.sandboxes if self.runtime is not None else []
        return sandboxes[0].ips[0] if sandboxes and sandboxes[0].ips else "127.0.0.1"

    def say(self, text: str) -> None:
        self.worker.event(self, "Warning", "FailedPreStopHook", text)

    async def look(self) -> PodRuntime:
        return self._looked(await self.worker.look(self.uid))

    async def look_again(self) -> PodRuntime:
        """The same after what this driver did by itself, and nothing went wrong: it alone makes containers of the pod,
        so it knows what there is, and need not have it listed."""
        known = self.runtime
        if self.stale or known is None:
            return await self.look()
        sandboxes = dict.fromkeys([sandbox.id for sandbox in known.sandboxes] + self.made_sandboxes)
        if not sandboxes.keys() >= set(self.made_containers.values()):
            return await self.look()  # the PLEG has told what contradicts it meanwhile
        containers = {container.id: container.sandbox_id for container in known.containers} | self.made_containers
        return self._looked(await self.worker.look_at(self.uid, list(sandboxes), containers))

    def _looked(self, seen: PodRuntime) -> PodRuntime:
        self.stale = False
        self.made_sandboxes, self.made_containers = [], {}
        if self.runtime is None or seen.at >= self.runtime.at:
            self.runtime = observation.with_addresses(seen, self.runtime)
            self._no_longer_waiting(seen)
            there = {ran.id for ran in seen.containers}
            self.unfinished.keep(there)
            self.verdicts = self.verdicts.of(there)
        # else the PLEG began to look later, was done sooner, and says what it saw only once
        return self.runtime

    def _no_longer_waiting(self, runtime: PodRuntime) -> None:
        """What runs waits for nothing, though its start may never have been answered."""
        self.waiting = {
            name: why
            for name, why in self.waiting.items()
            if why.reason == RESTARTING_ALL or not is_running(runtime.newest(name))
        }

    def wait_no_longer(self, reason: str) -> None:
        """Nothing of the pod waits for that any more."""
        self.waiting = {name: why for name, why in self.waiting.items() if why.reason != reason}

    def publish(self, *, again: bool = False) -> None:
        """Tell the status manager and the prober what has changed; `again`: everything."""
        observed = observation.observed(self, self.reason)
        if again or not observation.same(self._observed, observed):
            self._observed = observed
            self.worker.tell(STATUS_MANAGER, observed)
        probed = observation.probed(self)
        if probed is not None and (again or probed != self._probed):
            self._probed = probed
            self.worker.tell(PROBER, probed)
