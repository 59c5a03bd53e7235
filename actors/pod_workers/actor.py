"""A pod worker: keeps a driver for each pod whose UID hashes to it, and hands on what they are told.

Crash-only. Its pods come from `pod_config`, their containers from the runtime; running ones are adopted as they are.
Until all sources have reported, nothing is ended or removed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from actors.api_clients.messages import EVENT_CLIENT
from actors.container_manager.messages import CONTAINER_MANAGER, AdmitPod, GetNodeResources, NodeResources
from actors.image_manager.messages import IMAGE_MANAGER
from actors.pleg.messages import PLEG
from actors.pod_config.messages import POD_CONFIG, PodPoisons
from actors.prober.messages import PROBER
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.looking import look, look_at
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.names import POD_NAME_LABEL, POD_NAMESPACE_LABEL
from actors.shared.kube.pod import Pod
from actors.shared.tracing.start import begin
from actors.status_manager.messages import STATUS_MANAGER, PodObserved, Waiting
from actors.volume_manager.messages import VOLUME_MANAGER, VolumesFailed, VolumesMounted
from supervision.actor import Actor, Address, AskError, DisposableError, on
from supervision.addresses import ActorName
from supervision.quarantine import Journal, QuarantinePolicy

from .admission.node_support import read_apparmor
from .containers import files
from .executor import termination
from .executor.container_starter import Maker
from .executor.pod_worker import PodDriver
from .garbage.node_limit import BOUND_SECONDS, bound, is_needed
from .kubernetes_events import pod_event
from .logs import orphans
from .logs.rotation import COMPRESS_SECONDS, LogRotation, limits_of
from .messages import (
    DesiredPods,
    KillPod,
    KnownPods,
    PodOperation,
    PodRuntimeChanged,
    ProbeVerdict,
    RuntimeHealth,
    RuntimePods,
    VolumesMayWork,
)
from .phases.termination_plan import alive
from .pod import observation
from .pod.table import Stage

PODS_AT_ONCE = 4
"""Starts at the same time in one worker, so that pods which all hash to one are no slower for it; with more of them
each only takes longer (measured)."""
QUARANTINE = QuarantinePolicy()
KNOWERS = (CONTAINER_MANAGER, VOLUME_MANAGER, IMAGE_MANAGER, POD_CONFIG, STATUS_MANAGER, PROBER)
TRACE_SECONDS = 30.0
SWEEP_SECONDS = 60.0


class Worker(Actor):
    """See messages.py for what it is told."""

    feeders = (POD_CONFIG, PLEG, PROBER)

    def __init__(
        self,
        runtime: CriClient | None = None,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        """`clock`: seconds since 1970."""
        super().__init__()
        self._runtime, self.clock = runtime, clock
        self.rng = rng or random.Random()  # noqa: S311 - spreads load
        self.drivers: dict[str, PodDriver] = {}
        self._parked: dict[str, bytes] = {}
        self._unclaimed: dict[str, PodRuntime] = {}
        """What the runtime has of pods that no source has named yet; judged once all have spoken."""
        self._unread: set[str] = set()
        """Pods of the runtime that have told nothing but their names yet."""
        self._sources_ready = False
        self._runtime_known = False
        self._told: list[str] | None = None
        self.network_ready = True
        self.runtime_message = ""

    async def on_start(self) -> None:
        self.agent = cast(Agent, self.context)
        config = self.agent.config
        self.tracer = begin(self, config.tracing, self.agent.node_name)
        self.client = self._runtime or CriClient(
            self.agent.runtime_endpoint, request_seconds=float(config.runtimeRequestTimeout), tracer=self.tracer
        )
        self.sync_seconds = float(config.syncFrequency)
        self.maximum_backoff = float(config.crashLoopBackOff.maxContainerRestartPeriod or 300)
        self.apparmor = read_apparmor()
        self.maker = Maker(self, self.client, self.agent, PODS_AT_ONCE)
        self.journal = Journal(Path(self.agent.run_dir) / "quarantine" / self.name, QUARANTINE, self.clock)
        if self.journal.died_on:
            self.log.error("the last incarnation died with %s in hand", self.journal.died_on)
        self.start_task(self._learn_allocatable(), "allocatable")
        self.every(SWEEP_SECONDS, self._sweep, jitter=0.2)
        self.rotation = LogRotation(self.client, self.agent.pod_logs_dir, limits_of(config), self._compress)
        self.every(float(config.containerLogMonitorInterval), self._rotate_logs, jitter=0.1)
        if is_needed(self.agent.flags):
            self.every(BOUND_SECONDS, lambda: bound(self), jitter=0.1)

    async def _learn_allocatable(self) -> None:
        try:
            found = await self.ask(CONTAINER_MANAGER, GetNodeResources(), NodeResources, timeout=30.0)
        except AskError:
            return
        self.maker.allocatable = found.allocatable

    async def on_hello(self, name: ActorName) -> None:
        if name in (STATUS_MANAGER, PROBER):
            for driver in self.drivers.values():
                driver.publish(again=True)
            for uid in self._parked:
                self._tell_parked(uid)
        if name == CONTAINER_MANAGER:
            self._reaffirm()
        if name == VOLUME_MANAGER:
            for driver in self.drivers.values():
                driver.renew_volumes(again=True)
        if name in KNOWERS:
            self._told = None
            self._tell_known()

    def _reaffirm(self) -> None:
        """A new container manager knows of nobody on the node: what was admitted stays so, and is counted first."""
        for uid, driver in self.drivers.items():
            if driver.in_ledger:
                self.tell(CONTAINER_MANAGER, AdmitPod(uid, driver.data, running=True), deadline=30.0)

    # -- what is wanted -------------------------------------------------------------------------------------------
    @on(DesiredPods)
    def on_desired(self, message: DesiredPods, sender: Address) -> None:
        wanted = {pod.uid for pod in message.pods}
        for pod in message.pods:
            self._want(pod.uid, pod.pod)
        if message.sources_ready:
            self._sources_ready = True
            for uid in (set(self.drivers) | set(self._parked)) - wanted:
                self._remove(uid)
            unclaimed, self._unclaimed = self._unclaimed, {}
            for runtime in unclaimed.values():
                self._seen(runtime)
            self._tell_known()

    @on(PodOperation)
    def on_operation(self, message: PodOperation, sender: Address) -> None:
        if message.op == "set":
            self._want(message.uid, message.pod)
        else:
            self._remove(message.uid)
        self._tell_known()

    @on(KillPod)
    def on_kill(self, message: KillPod, sender: Address) -> None:
        if message.uid in self.drivers:
            self.drivers[message.uid].end(message)

    def _want(self, uid: str, data: bytes) -> None:
        key = _key(uid, data)
        if self.journal.is_parked(key):
            self._park(uid, data)
            return
        self._parked.pop(uid, None)
        try:
            with self.journal.hand(key):
                pod = decode_pod(data)
        except ObjectError as error:
            self.log.error("pod %s cannot be read, it is left as it is: %s", uid, error)
            return
        self._driver(uid).want(pod, data)

    def _remove(self, uid: str) -> None:
        if self._parked.pop(uid, None) is not None:
            # ended by what the runtime knows of it: what its source said is not touched again
            self._driver(uid, PodRuntime(uid=uid)).poke()
        if uid in self.drivers:
            self.drivers[uid].remove()

    def _driver(self, uid: str, runtime: PodRuntime | None = None) -> PodDriver:
        driver = self.drivers.get(uid)
        if driver is None:
            driver = self.drivers[uid] = PodDriver(self, uid, runtime)
            self.start_task(self._drive(driver), f"pod {uid}")
        return driver

    async def _drive(self, driver: PodDriver) -> None:
        try:
            await driver.run()
        except Exception:
            self.journal.blame(self.key(driver))
            raise
        self.drivers.pop(driver.uid, None)
        if driver.wanted_again:
            self._want(driver.uid, driver.wanted_again)
        if driver.runtime is not None and termination.remains(driver.runtime):
            self._seen(driver.runtime)  # what came while its last traces went is told once only
        self._tell_known()

    @staticmethod
    def key(driver: PodDriver) -> str:
        return _key(driver.uid, driver.source or driver.data)

    # -- pods that end their worker ---------------------------------------------------------------------------------
    def _park(self, uid: str, data: bytes) -> None:
        """Leave a pod alone that was in hand when three incarnations died; its containers go on as they are."""
        if uid not in self._parked:
            self.log.error("pod %s is parked: its last %d handlings ended this worker", uid, QUARANTINE.crashes)
            self.tell(POD_CONFIG, PodPoisons(uid, QUARANTINE.crashes))
        self._parked[uid] = data
        self._tell_parked(uid)

    def _tell_parked(self, uid: str) -> None:
        data = self._parked[uid]
        times = QUARANTINE.crashes
        text = f"the agent's worker ended {times} times while it handled this pod; it is left alone until it changes"
        try:
            names = [container.name for container in decode_pod(data).spec.containers]
        except ObjectError:
            names = []
        waiting = {name: Waiting("CrashLoopBackOff", text) for name in names}
        self.tell(STATUS_MANAGER, PodObserved(uid, data, "running", waiting=waiting, reason="CrashLoop", message=text))

    # -- what the runtime has -------------------------------------------------------------------------------------
    @on(RuntimePods)
    def on_runtime_pods(self, message: RuntimePods, sender: Address) -> None:
        self._runtime_known = True
        self._unread = set(message.unread)
        for runtime in message.pods:
            self._seen(runtime)
        for uid in self.drivers.keys() - self._unread - {runtime.uid for runtime in message.pods}:
            self.drivers[uid].seen(PodRuntime(uid=uid, at=message.at))
        self._tell_known()

    @on(PodRuntimeChanged)
    def on_runtime_changed(self, message: PodRuntimeChanged, sender: Address) -> None:
        self._unread.discard(message.uid)
        self._seen(message.runtime)
        self._tell_known()

    def _seen(self, runtime: PodRuntime) -> None:
        driver = self.drivers.get(runtime.uid)
        if driver is not None:
            driver.seen(runtime)
        elif not (runtime.sandboxes or runtime.containers):
            self._unclaimed.pop(runtime.uid, None)
        elif not self._sources_ready:
            self._unclaimed[runtime.uid] = runtime
        elif runtime.uid not in self._parked:
            self.log.info(
                "pod %s/%s (%s) is wanted by no source: it is ended", runtime.namespace, runtime.name, runtime.uid
            )
            self._driver(runtime.uid, runtime).poke()

    @on(RuntimeHealth)
    def on_health(self, message: RuntimeHealth, sender: Address) -> None:
        recovered = message.ready and message.network_ready and not self.network_ready
        self.network_ready, self.runtime_message = message.network_ready, message.message
        if recovered:
            for driver in self.drivers.values():
                driver.poke()

    @on(ProbeVerdict)
    def on_verdict(self, message: ProbeVerdict, sender: Address) -> None:
        driver = self.drivers.get(message.uid)
        if driver is not None:
            driver.verdict(message.container_id, message.kind, message.success)

    @on(VolumesMayWork)
    def on_volumes(self, message: VolumesMayWork, sender: Address) -> None:
        driver = self.drivers.get(message.uid)
        if driver is not None:
            driver.poke()

    @on(VolumesMounted)
    def on_volumes_renewed(self, message: VolumesMounted, sender: Address) -> None:
        """Of a running pod, told to the volume manager again: nothing is to be done."""

    @on(VolumesFailed)
    def on_volumes_not_renewed(self, message: VolumesFailed, sender: Address) -> None:
        """A running pod keeps the volumes that it has; its users are told."""
        driver = self.drivers.get(message.uid)
        if driver is not None:
            for text in message.texts or [message.message]:
                self.event(driver, "Warning", "FailedMount", text)

    # -- for the drivers ------------------------------------------------------------------------------------------
    async def look(self, uid: str) -> PodRuntime:
        """All that the runtime has of a pod, asked now. Raises CriError."""
        return self._seen_now(await look(self.client, uid))

    async def look_at(self, uid: str, sandboxes: list[str], containers: dict[str, str]) -> PodRuntime:
        """The same where all ids are known: the sandboxes', and by each container's that of its sandbox."""
        return self._seen_now(await look_at(self.client, uid, sandboxes, containers))

    def _seen_now(self, runtime: PodRuntime) -> PodRuntime:
        driver = self.drivers.get(runtime.uid)
        return self.with_messages(runtime, driver.pod if driver is not None else None)

    def with_messages(self, runtime: PodRuntime, pod: Pod | None) -> PodRuntime:
        """The same with the last words of the containers that have ended, where the pod is known."""
        if pod is None:
            return runtime
        return observation.with_messages(runtime, pod, self.agent.pod_dir(runtime.uid), self.agent.pod_logs_dir)

    async def namesake_runs(self, pod: Pod) -> bool:
        """Whether another pod of this name has a ready sandbox or a live container. Raises CriError."""
        labels = {POD_NAME_LABEL: pod.metadata.name, POD_NAMESPACE_LABEL: pod.metadata.namespace}
        sandboxes = await self.client.list_pod_sandboxes(labels)
        if any(sandbox.ready and sandbox.pod_uid != pod.metadata.uid for sandbox in sandboxes):
            return True
        if not any(sandbox.pod_uid != pod.metadata.uid for sandbox in sandboxes):
            return False
        containers = await self.client.list_containers(labels)
        others = [one for one in containers if one.pod_uid != pod.metadata.uid]
        return bool(alive(PodRuntime(uid="", containers=others)))

    async def remove_traces(self, uid: str, namespace: str, name: str) -> None:
        """The logs and the directory of a pod that is gone."""
        agent = self.agent
        if name:
            files.remove_pod_logs(agent.container_logs_dir, agent.pod_logs_dir, namespace, name, uid)
        path = {"path": agent.pod_dir(uid)}
        await self.disposable("actors.shared.linux.removal:remove_tree", path, deadline=TRACE_SECONDS)

    def event(self, driver: PodDriver, kind: str, reason: str, text: str, container: str = "") -> None:
        """Tell users of the pod."""
        pod = driver.pod
        if pod is None:
            return
        self.tell(EVENT_CLIENT, pod_event(pod, cast(Any, kind), reason, text, container))

    def _sweep(self) -> None:
        """Remove logs of pods that nobody knows any more, once everybody who could know them has spoken."""
        if self._sources_ready and self._runtime_known:
            try:
                for path in orphans.sweep(
                    self.agent, {*self.drivers, *self._parked, *self._unread}, self.name, self.clock()
                ):
                    self.log.info("removed the logs of a pod that is gone: %s", path)
            except OSError as error:
                self.log.warning("logs of pods that are gone stay: %s", error)

    async def _rotate_logs(self) -> None:
        pods = [driver.runtime for driver in self.drivers.values() if driver.runtime is not None]
        for problem in await self.rotation.round(pods, self.clock()):
            self.log.warning("%s", problem)

    async def _compress(self, path: str) -> None:
        try:
            await self.disposable(
                "actors.pod_workers.logs.rotation:compress", {"path": path}, deadline=COMPRESS_SECONDS
            )
        except DisposableError as error:
            self.log.warning("%s is not compressed: %s", path, error)

    def _tell_known(self) -> None:
        """Say which pods may still have something on the node, once that is known."""
        if not (self._sources_ready and self._runtime_known):
            return
        known = sorted(
            {uid for uid, driver in self.drivers.items() if driver.stage is not Stage.FINISHED}
            | self._unread.union(self._parked)
        )
        if known != self._told:
            self._told = known
            for name in KNOWERS:
                self.tell(name, KnownPods(self.name, self.agent.workers, known), deadline=30.0)


def _key(uid: str, data: bytes) -> str:
    """A pod as it is now: another content is another chance."""
    return f"{uid}/{sha256(data).hexdigest()[:16]}"
