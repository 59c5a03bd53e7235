"""Keeps the API status of every pod, computed from the reports of the workers and the results of the prober.

On start it sends Hello to the workers and the prober, which answer with their current state. Only the readiness of
probed containers is in a file, so that a restart of the whole agent does not change it. In a cluster a status continues
the one of the API server, and `ApiSync` writes it there.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.http_servers.messages import PODS_SERVER
from actors.pod_config.messages import SourcePod, SourcePods
from actors.pod_workers.messages import ShardPods
from actors.prober.messages import PROBER, PodAddress
from actors.shared.config.agent import Agent
from actors.shared.pod_inventory import PodInventory
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.protocol import GetMetrics, MetricsSnapshot

from .api_server.api_sync import UPKEEP_SECONDS, ApiSync
from .api_server.start_latency import StartLatency
from .device_reports import DeviceReports
from .messages import (
    ActivePods,
    ClaimedDevices,
    DeviceHealth,
    GetActivePods,
    GetLivePods,
    GetPods,
    GetPodStatus,
    LivePods,
    PodObserved,
    Pods,
    PodStatusFound,
    ProbeResult,
)
from .node_facts import NodeFacts
from .pods.api_pods import ApiPod
from .pods.pod_table import PodTable
from .pods.tracked_pod import TrackedPod, last_status, reported, tracked, with_base
from .readiness.readiness_file import ReadinessFile
from .readiness.readiness_saver import ReadinessSaver
from .readiness.readiness_table import ReadinessTable
from .reports.address_family import family_event
from .reports.first_reports import FirstReports
from .reports.live_pods import active_pods, live_pods
from .reports.pod_list import pod_list, status_of
from .reports.pod_metrics import PodMetrics
from .reports.probe_addresses import probe_address
from .reports.served_pods import ServedPodsFeed
from .status.pod_status import compute
from .status.pod_status_input import PodStatusInput
from .times import PodStatusClocks

UNKNOWN_PODS_SECONDS: Final = 600.0
"""Seconds from the start until pods that no worker has reported are removed from the readiness file."""


class StatusManager(Actor):
    """Messages in and out; `pod_status.compute` computes a status, `steps.next_step` decides the next write."""

    def __init__(self, clocks: PodStatusClocks | None = None) -> None:
        super().__init__()
        self._clocks = clocks or PodStatusClocks()
        self.table = PodTable()
        self._latency = StartLatency(self.metrics)
        self._pod_metrics = PodMetrics(self.metrics)
        self._devices = DeviceReports()
        self._api_sync: ApiSync | None = None
        """None: standalone."""

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        agent = self.agent
        file = ReadinessFile(f"{agent.state_dir}/status_manager/probes.json")
        file.load()
        if file.problem:
            self.log.warning("the readiness from before this start is lost: %s", file.problem)
        self._readiness = ReadinessTable(file, self._clocks.wall_ns())
        self._saver = ReadinessSaver(self, file)
        self._inventory = PodInventory()
        self._first_reports = FirstReports(self)
        self._node = NodeFacts(self, agent, self._refresh_all)
        self._served = ServedPodsFeed(self, self.table, agent)
        self.after(UNKNOWN_PODS_SECONDS, self._forget_unknown_pods)
        if not agent.standalone:
            self._api_sync = ApiSync(self, self.table, self._latency, agent, self._clocks, self._recompute)
            self.every(UPKEEP_SECONDS, self._api_sync.upkeep)
        self._node.start()

    async def on_hello(self, name: ActorName) -> None:
        if name == PROBER:
            for pod in self.table.all():
                if probe_address(pod):
                    self.tell(PROBER, PodAddress(pod.uid, probe_address(pod)))
        elif name == PODS_SERVER:
            self._served.hello(self._inventory.uids() if self._inventory.complete else None)

    # -- reports of the workers and the prober --------------------------------------------------------------------
    @on(PodObserved)
    def on_pod_observed(self, message: PodObserved, sender: Address) -> None:
        if message.gone:
            self._forget(message.uid)
            return
        before = self.table.get(message.uid)
        if before is None and not message.pod:
            # a leftover in the runtime that no source has: there is no status to show
            self._pod_metrics.leftover(message.uid, message.worker_phase)
            self._count_first_reports()
            return
        self._pod_metrics.forget(message.uid)
        after = reported(before, message) if before is not None else tracked(message, self._clocks.wall())
        if after is None:
            self.metrics.count("status_manager_outdated_observations_total")
            return
        self.table.put(after)
        if after.observed.runtime is not None:
            self._readiness.file.keep_containers(
                after.uid, {instance.id for instance in after.observed.runtime.containers}
            )
        self._refresh(after.uid)
        self._count_first_reports()

    def _count_first_reports(self) -> None:
        if not self._first_reports.over and self._inventory.complete:
            known = frozenset([*self.table.uids(), *self._pod_metrics.leftovers()])
            self._first_reports.listed(self._inventory.uids(), known)

    @on(ProbeResult)
    def on_probe_result(self, message: ProbeResult, sender: Address) -> None:
        self._readiness.found(message)
        self._refresh(message.uid)

    @on(ClaimedDevices)
    def on_claimed_devices(self, message: ClaimedDevices, sender: Address) -> None:
        self._devices.claimed(message)
        self._refresh(message.uid)

    @on(DeviceHealth)
    def on_device_health(self, message: DeviceHealth, sender: Address) -> None:
        self._devices.health(message)
        self._refresh(message.uid)

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        """Drop the pods that their own worker does not list: a worker that was killed could not report their end. The
        list is newer than every report that the worker sent before it.
        """
        self._inventory.update(message.worker, message.workers, message.uids)
        if self._api_sync is not None:
            self._api_sync.worker_listed(message.worker)
        self._count_first_reports()
        if self._inventory.complete:
            self._served.listed(self._inventory.uids())
        for uid in self.table.uids():
            if message.lacks(uid):
                self._forget(uid)
        for uid in self._devices.uids():
            if message.lacks(uid):
                self._devices.forget(uid)
        for uid in self._pod_metrics.leftovers():
            if message.lacks(uid):
                self._pod_metrics.forget(uid)
        for uid in self._readiness.uids():  # a result may come after the end of its pod
            if message.lacks(uid):
                self._readiness.forget(uid)

    def _forget(self, uid: str) -> None:
        gone = self.table.forget(uid)
        self._served.gone(uid)
        self._readiness.forget(uid)
        self._devices.forget(uid)
        self._pod_metrics.forget(uid)
        self._saver.save_soon()
        if probe_address(gone):
            self.tell(PROBER, PodAddress(uid, ""))
        if gone is not None and self._api_sync is not None:
            self._api_sync.released(gone)

    def _forget_unknown_pods(self) -> None:
        """The readiness file forgets the pods that no worker has, once every worker has listed its pods."""
        if not self._inventory.complete:
            self.after(UNKNOWN_PODS_SECONDS, self._forget_unknown_pods)
            return
        self._readiness.file.keep_pods(self.table.uids())
        self._saver.save_soon()

    # -- the API server's pods ----------------------------------------------------------------------------------
    @on(SourcePods)
    def on_source_pods(self, message: SourcePods, sender: Address) -> None:
        if self._api_sync is not None:
            self._refresh_keys(self._api_sync.listed(message))
            self._api_sync.writer.server_is_back()

    @on(SourcePod)
    def on_source_pod(self, message: SourcePod, sender: Address) -> None:
        if self._api_sync is not None:
            self._refresh_keys(self._api_sync.changed(message))

    def _refresh_keys(self, keys: set[str]) -> None:
        """The API copy of the pods of these keys has changed."""
        for key in keys:
            self._recompute(key)
        if self._api_sync is not None:
            self._api_sync.writer.consider_all(keys)

    def _refresh_all(self) -> None:
        """The node's addresses have changed."""
        self._refresh_keys(set(self.table.uids()))

    # -- status ---------------------------------------------------------------------------------------------------
    def _refresh(self, uid: str) -> None:
        """Compute the status of a pod and queue its write; for a key without a pod, only queue the write."""
        self._refresh_keys({uid})

    def _recompute(self, uid: str) -> None:
        before = self.table.get(uid)
        if before is None:
            return
        api_pod = self.table.api_pod(before)
        latest = with_base(before, api_pod) if self.table.api.synced else before
        after = self._with_status(latest, api_pod)
        if self._readiness.file.changed:
            self._saver.save()  # saved before it is reported: the next incarnation must not know less
        if after.status != latest.status:
            self._measure(latest, after)
        self.table.put(after)
        self._served.changed(after)
        if probe_address(after) != probe_address(before):
            self.tell(PROBER, PodAddress(uid, probe_address(after)))

    def _with_status(self, latest: TrackedPod, api_pod: ApiPod | None) -> TrackedPod:
        """The pod with its current status. `api_pod`: the API copy."""
        pod = latest.pod if api_pod is None else msgspec.structs.replace(latest.pod, status=api_pod.status)
        observation = PodStatusInput(
            latest.observed,
            pod,
            self._readiness.of(latest),
            self._clocks.wall_ns(),
            self._devices.claims_of(latest.uid),
            self._devices.health_of(latest.uid),
        )
        status = compute(observation, self._node.current, last_status(latest, api_pod))
        return msgspec.structs.replace(latest, status=status)

    def _measure(self, before: TrackedPod, after: TrackedPod) -> None:
        old, new = before.status, after.status
        if new is not None and (old is None or old.phase != new.phase):
            self.log.debug("pod %s: %s", after.full_name, new.phase)
            if old is not None and (old.phase, new.phase) == ("Pending", "Running"):
                self._latency.first_running(after, self._clocks.wall())
        self._pod_metrics.changed(before, after)
        event = family_event(before, after)
        if event is not None and self._api_sync is not None:
            self.tell(EVENT_CLIENT, event)

    # -- questions ------------------------------------------------------------------------------------------------
    @on(GetPods)
    async def on_get_pods(self, message: GetPods, sender: Address) -> Pods:
        await self._first_reports.wait()
        return pod_list(self.table, message.after)

    @on(GetLivePods)
    def on_get_live_pods(self, message: GetLivePods, sender: Address) -> LivePods:
        found = live_pods(self.table, self._inventory.uids(), standalone=self.agent.standalone)
        return LivePods(found, complete=self._inventory.complete)

    @on(GetActivePods)
    async def on_get_active_pods(self, message: GetActivePods, sender: Address) -> ActivePods:
        await self._first_reports.wait()
        return active_pods(self.table, message.after)

    @on(GetMetrics)
    def on_get_metrics(self, message: GetMetrics, sender: Address) -> MetricsSnapshot:
        self._pod_metrics.gauges(self.table)
        return self.metrics.snapshot(self.name, self.incarnation)

    @on(GetPodStatus)
    async def on_get_pod_status(self, message: GetPodStatus, sender: Address) -> PodStatusFound:
        wanted = message.uid, message.namespace, message.name
        if self.table.find(*wanted) is None:
            await self._first_reports.wait()
        return status_of(self.table.find(*wanted), message.uid)
