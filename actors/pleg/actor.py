"""The PLEG: looks at the runtime each second and tells the workers what changed in their pods.

The relist is the truth. Events of the runtime, where it has them, only bring the look at that one pod forward. A pod
whose status call is slow holds up nobody: each is asked for beside the others, one question at a time for each pod.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast

from actors.api_clients.messages import HEARTBEAT_CLIENT, RuntimeHandlerReport, RuntimeReport
from actors.pod_workers.messages import PodRuntimeChanged, RuntimeHealth, RuntimePods, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unimplemented
from actors.shared.cri.looking import look
from actors.shared.cri.model import PodRuntime, RuntimeStatus
from actors.shared.tracing.start import begin
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName

from .events import World, events, world
from .messages import GetRuntimePods, PodNetwork, RelistPod, RuntimeSnapshot

RELIST_SECONDS = 1.0
STATUS_SECONDS = 5.0
EVENTS_RETRY_SECONDS = 5.0
STATUS_CALLS_AT_ONCE = 16
STATUS_DEADLINE_SECONDS = 20.0
"""Shorter than that of a call, so that sandboxes that hang give their places to others."""
FIRST_LOOK_SECONDS = 3.0
"""So long the first look waits for what is slow; the workers are told of which pods nothing is known yet."""


class Pleg(Actor):
    """Keeps the last look, nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._world: World | None = None
        self._listed: set[str] = set()
        """All pods of the last list; what is not in `_pods` has not told its status yet."""
        self._pods: dict[str, PodRuntime] = {}
        self._failing: set[str] = set()
        self._asking: set[str] = set()
        self._again: set[str] = set()
        self._relisted_at = 0.0
        self._health = RuntimeHealth(False, False, "the runtime has not been asked yet")
        self._health_said = False
        self._greeted: set[str] = set()
        self._ready_at = self._looked_at = 0.0
        """When the runtime was well, and when the last good relist began, by the monotonic clock."""
        self._status_seen = RuntimeStatus()
        self._version = ""
        self._pod_cidr = ""
        """What the runtime was told last."""

    async def on_start(self) -> None:
        self.agent = cast(Agent, self.context)
        seconds = float(self.agent.config.runtimeRequestTimeout)
        tracer = begin(self, self.agent.config.tracing, self.agent.node_name)
        self.client = CriClient(self.agent.runtime_endpoint, request_seconds=seconds, tracer=tracer)
        self._calls = asyncio.Semaphore(STATUS_CALLS_AT_ONCE)
        self.every(RELIST_SECONDS, self.relist, immediately=True)
        self.every(STATUS_SECONDS, self.check_health, immediately=True)
        self.start_task(self._follow_events(), "runtime events")
        if self.agent.standalone and self.agent.config.podCIDR:
            self.every(STATUS_SECONDS, self._keep_network, immediately=True)

    def _workers(self) -> list[ActorName]:
        return pod_workers(self.agent.workers)

    async def on_hello(self, name: ActorName) -> None:
        if name in self._workers():
            self._greeted.add(name)
            self._tell_all(name)
            self.tell(name, self._health)
        elif name == HEARTBEAT_CLIENT:
            self._tell_node()

    def _tell_all(self, worker: ActorName) -> None:
        """Everything of one worker, if the runtime has been looked at."""
        if self._relisted_at:
            own = [uid for uid in sorted(self._listed) if worker_of(uid, self.agent.workers) == worker]
            known = [self._pods[uid] for uid in own if uid in self._pods]
            self.tell(worker, RuntimePods(known, self._relisted_at, [uid for uid in own if uid not in self._pods]))

    @on(GetRuntimePods)
    def on_get(self, message: GetRuntimePods, sender: Address) -> RuntimeSnapshot:
        health = self._health
        pods = list(self._pods.values())
        return RuntimeSnapshot(pods, self._relisted_at, health.ready, health.network_ready, health.message)

    @on(RelistPod)
    def on_relist_pod(self, message: RelistPod, sender: Address) -> None:
        self._ask_for(message.uid)

    # -- the look each second ---------------------------------------------------------------------------------------
    async def relist(self) -> None:
        """One look at everything. While the runtime is down nothing is reported, least of all as gone."""
        began = time.monotonic()
        try:
            sandboxes, containers = await asyncio.gather(
                self.client.list_pod_sandboxes(), self.client.list_containers()
            )
        except CriError as error:
            self.metrics.count("kubelet_runtime_operations_errors_total", operation_type="list")
            if not self._health.ready:
                return
            self._set_health(RuntimeHealth(False, False, str(error)))
            return
        self._looked_at = began
        now = world(sandboxes, containers)
        first, before = self._world is None, self._world or {}
        self._world = now
        self._listed = {thing.uid for thing in now.values()}
        changed = {event.uid for event in events(before, now)} | self._lost()
        if changed or first:
            await self._look(changed, began)
        self._relisted_at = began
        if not self._health.ready:
            await self.check_health()  # it is back
        if first:
            self._tell_node()
            for worker in self._workers():
                self._tell_all(worker)
        self.metrics.observe("kubelet_pleg_relist_duration_seconds", time.monotonic() - began)
        self.metrics.gauge("kubelet_pleg_last_seen_seconds", time.time())

    def _lost(self) -> set[str]:
        """Pods that were forgotten, to be seen as new, but are gone instead: no event tells of that."""
        lost = self._failing - self._listed
        self._failing -= lost
        return lost

    async def _look(self, changed: set[str], at: float) -> None:
        """Ask for the status of each pod that changed; at the first look for all, and wait for them, not for ever."""
        for uid in set(self._pods) - self._listed:
            del self._pods[uid]
        tasks = [self._ask_for(uid) for uid in changed & self._listed]
        for uid in changed - self._listed:
            self._report(PodRuntime(uid=uid, at=at))
        asked = [task for task in tasks if task is not None]
        if not self._relisted_at and asked:
            await asyncio.wait(asked, timeout=FIRST_LOOK_SECONDS)

    def _ask_for(self, uid: str) -> asyncio.Task[None] | None:
        """Look at one pod; a request while one is under way is made again after it."""
        if uid in self._asking:
            self._again.add(uid)
            return None
        self._asking.add(uid)
        return self.start_task(self._pod(uid), f"status of {uid}")

    async def _pod(self, uid: str) -> None:
        try:
            runtime = await self._status(uid)
        except (CriError, TimeoutError) as error:
            if uid not in self._failing:
                text = str(error) or f"no answer in {STATUS_DEADLINE_SECONDS:.0f} s"
                self.log.warning("pod %s: its status is asked for again with each relist: %s", uid, text)
            self._failing.add(uid)
            self._again.discard(uid)  # the next relist asks anyway
            self._forget(uid)
            return
        finally:
            self._asking.discard(uid)
        self._failing.discard(uid)
        if runtime.sandboxes or runtime.containers:
            self._pods[uid] = runtime
        else:
            self._pods.pop(uid, None)
        self._report(runtime)
        if uid in self._again:
            self._again.discard(uid)
            self._ask_for(uid)

    def _forget(self, uid: str) -> None:
        """Make the next relist see this pod as new; `_lost` if it is not there any more."""
        self._world = {key: thing for key, thing in (self._world or {}).items() if thing.uid != uid}

    async def _status(self, uid: str) -> PodRuntime:
        async with self._calls, asyncio.timeout(STATUS_DEADLINE_SECONDS):
            return await look(self.client, uid)

    def _report(self, runtime: PodRuntime) -> None:
        if self._relisted_at and runtime.uid:
            self.tell(worker_of(runtime.uid, self.agent.workers), PodRuntimeChanged(runtime.uid, runtime))

    # -- the pods' network ------------------------------------------------------------------------------------------
    @on(PodNetwork)
    async def on_pod_network(self, message: PodNetwork, sender: Address) -> None:
        """It is told again with the next look at the node, so what fails is tried again by that."""
        await self._tell_network(message.cidr)

    async def _keep_network(self) -> None:
        """Standing alone it is the configuration's."""
        await self._tell_network(self.agent.config.podCIDR)

    async def _tell_network(self, cidr: str) -> None:
        """The runtime, once: it may have a template of the network's configuration to fill in."""
        if cidr == self._pod_cidr:
            return
        try:
            await self.client.update_runtime_config(cidr)
        except Unimplemented:
            self.log.info("the runtime has no use for the pods' network %s", cidr)
        except CriError as error:
            self.log.warning("the runtime is not told the pods' network %s: %s", cidr, error)
            return
        else:
            self.log.info("the runtime is told the pods' network: %s", cidr)
        self._pod_cidr = cidr

    # -- health and events ------------------------------------------------------------------------------------------
    async def check_health(self) -> None:
        """Whether the runtime and its network are ready, told to the workers when it changes."""
        try:
            status = await self.client.status()
        except CriError as error:
            self._set_health(RuntimeHealth(False, False, str(error)))
            self._version = ""  # what comes back may be another
            self._tell_node()
            return
        self._set_health(RuntimeHealth(status.runtime_ready, status.network_ready, status.message))
        self._status_seen = status
        if status.runtime_ready:
            self._ready_at = time.monotonic()
        self._tell_node()
        if not self._version and not self.agent.standalone:
            await self._ask_version()

    async def _ask_version(self) -> None:
        try:
            version = await self.client.version()
        except CriError as error:
            self.log.warning("the runtime does not tell its version: %s", error)
            return
        self._version = f"{version.name}://{version.version}"
        self._tell_node()

    def _tell_node(self) -> None:
        """The heartbeat client, of what the node's readiness hangs on."""
        status = self._status_seen
        if self.agent.standalone:
            return
        handlers = [
            RuntimeHandlerReport(
                name=handler.name,
                recursive_read_only_mounts=handler.recursive_read_only_mounts,
                user_namespaces=handler.user_namespaces,
            )
            for handler in status.handlers
        ]
        report = RuntimeReport(
            ready_at=self._ready_at,
            relisted_at=self._looked_at,
            runtime_error=status.runtime_message,
            network_error=status.network_message,
            version=self._version,
            handlers=handlers,
            supplemental_groups_policy=status.supplemental_groups_policy,
        )
        self.tell(HEARTBEAT_CLIENT, report)

    def _set_health(self, health: RuntimeHealth) -> None:
        if health == self._health:
            return
        if not self._health_said or (health.ready, health.network_ready) != (
            self._health.ready,
            self._health.network_ready,
        ):
            self._health_said = True
            well = health.ready and health.network_ready
            self.log.log(
                20 if well else 30, "container runtime: %s", "ready" if well else health.message or "not ready"
            )
        self._health = health
        for worker in self._workers():
            self.tell(worker, health)

    async def _follow_events(self) -> None:
        """Events bring a look forward. A runtime without them is not asked again."""
        while True:
            try:
                async for event in self.client.container_events():
                    if event.pod_uid:
                        self._ask_for(event.pod_uid)
            except Unimplemented:
                self.log.info("the runtime has no events; it is looked at every %.0f s", RELIST_SECONDS)
                return
            except CriError:
                pass
            await asyncio.sleep(EVENTS_RETRY_SECONDS)
