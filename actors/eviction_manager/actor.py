"""The eviction manager: ends pods before the node runs out of memory, disk or process IDs.

A round takes place every ten seconds, and at once when memory falls below a threshold in between. It observes the
signals, reports the conditions, cleans up the node for the most urgent threshold, and then evicts one pod. Evictions in
progress are in a file: after a restart the next incarnation finishes them before it selects another pod.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, NodePressure
from actors.container_manager.messages import CONTAINER_MANAGER, NodeEvictions
from actors.shared.admission.checks.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Threshold
from actors.shared.cri.client import CriClient
from actors.shared.linux import cgroup_tree
from supervision.actor import Actor, Address, DisposableError, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER

from .limit_check import LimitCheck
from .local_storage import is_limited
from .messages import GetPodDisks, PodDisksMeasured, PreemptPods
from .node_cleanup import NodeCleanup
from .node_observer import NodeObservations, NodeObserver
from .oom_watcher import OomWatcher
from .pod_evictions import REPEAT_SECONDS, PodEvictions
from .pressure_report import PressureReport
from .resources import RESOURCE_OF, reclaims
from .round_timer import ROUND_SECONDS, RoundTimer
from .shared_disks import volume_period
from .thresholds import SignalObservation, ThresholdTracker, for_layout, still_met, watched
from .usage import PodUsage
from .usage_reader import UsageReader
from .victims import evictable, of_threshold, over_limits, preempted, victim


class EvictionManager(Actor):
    """`host`: the root directory of a simulated host; `clock`: monotonic seconds; `runtime`: a client of the
    runtime."""

    def __init__(
        self, host: str = "", clock: Callable[[], float] = time.monotonic, runtime: CriClient | None = None
    ) -> None:
        super().__init__()
        self._host, self._clock, self._runtime = host, clock, runtime
        self._conditions: frozenset[str] = frozenset()
        self._has_reported = False
        """The conditions were observed, or are known from the previous incarnation."""

    async def on_start(self) -> None:
        self._agent = agent = cast(Agent, self.context)
        tree = cgroup_tree.find(self._host)
        self._watched = watched(agent.config)
        self._evictions = PodEvictions(self, agent, self._report_evictions)
        self._evictions.load()
        self._conditions = frozenset(self._evictions.conditions(self._watched))
        self._has_reported = self.incarnation > 1
        period = float(agent.config.evictionPressureTransitionPeriod)
        self._tracker = ThresholdTracker(self._watched, period, self._conditions, self._clock())
        self._pressure = PressureReport(lambda state: self.tell(FORK_SERVER, state), self._clock)
        self._observer = NodeObserver(self, agent, tree, self._host)
        self._usage = UsageReader(self, agent, tree, self._clock, self._runtime)
        self._cleanup = NodeCleanup(self, agent.workers)
        self._timer = RoundTimer(self, self._observer, self._watched, self._clock)
        self._timer.listen(tree, notifies=agent.config.kernelMemcgNotification, proc=f"{self._host}/proc")
        OomWatcher(self, agent, self._usage, self._host).start()
        self._report_evictions()
        self.every(REPEAT_SECONDS, self._evictions.look)
        self.start_task(self._run(), "rounds")
        if agent.config.localStorageCapacityIsolation and not agent.standalone:
            self._limits = LimitCheck(self._usage, volume_period(agent), self._clock)
            self.every(min(ROUND_SECONDS, self._limits.period), self._enforce_limits, jitter=0.1)

    async def on_hello(self, name: ActorName) -> None:
        if name == CONTAINER_MANAGER:
            self._report_evictions()
        elif self._has_reported:
            self._report_pressure()

    # -- rounds -------------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        disks = True
        while True:
            if self._evictions.awaited:
                disks = await self._timer.until_ended(self._evictions)
            started_at = self._clock()
            observed = await self._round(disks=disks)
            if not self._evictions.awaited:
                disks = await self._timer.until_next(started_at, observed)

    async def _round(self, *, disks: bool) -> NodeObservations:
        observed, now = await self._observer.observe(disks=disks), self._clock()
        crossed = self._tracker.observe(observed.signals, now, observed.layout)
        self._set_conditions(crossed.conditions, observed.signals)
        self._pressure.observed(crossed.conditions, crossed.met, observed.signals)
        if crossed.due:
            await self._reclaim(crossed.due, observed, now)
        return observed

    def _set_conditions(self, conditions: frozenset[str], signals: dict[str, SignalObservation]) -> None:
        before, self._conditions = self._conditions, conditions
        for name in conditions - before:
            self.log.warning("the node has %s: %s", name, _described(signals))
        for name in before - conditions:
            self.log.info("the node no longer has %s", name)
        if conditions != before or not self._has_reported:
            self._has_reported = True
            self._evictions.save_conditions(conditions, self._watched)
            self._report_evictions()
            self._report_pressure()

    # -- eviction -----------------------------------------------------------------------------------------------------
    async def _reclaim(self, due: tuple[Threshold, ...], observed: NodeObservations, at: float) -> None:
        """`due`: the most urgent one first; `at`: time of the observation, in seconds of the clock."""
        threshold = due[0]
        self._record(threshold)
        cleaned = reclaims(threshold.signal, observed.layout)
        for what in cleaned:
            if not await self._timer.until_done(self._cleanup.remove(what), observed):
                return  # memory is more urgent, and the clean-up goes on
        if cleaned:
            freeing = self.start_task(self._usage.free_removed_space(), "removed space")
            if not await self._timer.until_done(freeing, observed):
                return
            after = await self._observer.observe()
            if after.signals and not still_met(for_layout(self._watched, after.layout), after.signals):
                self.log.info("the clean-up freed enough, no pod is evicted: %s", _described(after.signals))
                return
        await self._evict(due, observed, at)

    def _record(self, threshold: Threshold) -> None:
        self.log.warning("%s is below its threshold", threshold.signal)
        if not self._agent.standalone:
            text = f"Attempting to reclaim {RESOURCE_OF[threshold.signal]}"
            event = node_event(self._agent.node_name, "EvictionThresholdMet", text, "Warning")
            self.tell(EVENT_CLIENT, event, deadline=60.0)

    async def _evict(self, due: tuple[Threshold, ...], observed: NodeObservations, at: float) -> None:
        """Evict one pod, or end at once those that a soft threshold has given time to end."""
        threshold, signal = due[0], due[0].signal
        if not threshold.grace_seconds and self._evictions.hasten(RESOURCE_OF[signal]):
            return
        known = await self._usage.pods()
        if known is None:
            self._timer.again_soon()
        pods = evictable(known or [], self._evictions.uids)
        measuring = self.start_task(self._usage.of(signal, pods), f"usage {signal}")
        if not await self._timer.until_done(measuring, observed):
            measuring.cancel()
            return
        usages: dict[str, PodUsage] | None = measuring.result()
        selected = victim(pods, usages, signal, observed.layout) if usages is not None else None
        if selected is None or usages is None:
            self.log.warning("%s is below its threshold, but there is no pod to evict", signal)
            return
        usage = usages.get(selected.uid)
        if usage is not None and RESOURCE_OF[signal] == "memory":
            usage = self._usage.with_containers(selected, usage)
        for one in due:
            self.metrics.observe("kubelet_eviction_stats_age_seconds", self._clock() - at, eviction_signal=one.signal)
        most = self._agent.config.evictionMaxPodGracePeriod
        self._evictions.add(of_threshold(selected, usage, threshold, observed.signals.get(signal), most))
        self._timer.wake()

    @on(PreemptPods)
    async def on_preempt(self, message: PreemptPods, sender: Address) -> None:
        uids = frozenset(message.uids) - self._evictions.uids
        for eviction in preempted(await self._usage.pods() or [] if uids else [], uids, message.resource):
            self._evictions.add(eviction)

    async def _enforce_limits(self) -> None:
        """Evict the pods that are over a limit of their local storage. Only pods with limits are measured."""
        pods = [one for one in evictable(await self._usage.pods() or [], self._evictions.uids) if is_limited(one.pod)]
        if not pods:
            return
        usages, layout = await self._limits.usages(pods), (await self._observer.observe(disks=False)).layout
        for eviction in over_limits(pods, usages, layout):
            self._evictions.add(eviction)

    @on(GetPodDisks)
    async def on_pod_disks(self, message: GetPodDisks, sender: Address) -> PodDisksMeasured:
        try:
            return PodDisksMeasured(await self._usage.shared_disks.recent(message.pods, message.left_out))
        except DisposableError as error:
            return PodDisksMeasured({}, str(error))

    # -- reports ------------------------------------------------------------------------------------------------------
    def _report_evictions(self) -> None:
        message = NodeEvictions(sorted(self._conditions), sorted(self._evictions.uids))
        self.tell(CONTAINER_MANAGER, message, deadline=30.0)

    def _report_pressure(self) -> None:
        if not self._agent.standalone:
            now = self._conditions
            message = NodePressure(memory=MEMORY_PRESSURE in now, disk=DISK_PRESSURE in now, pids=PID_PRESSURE in now)
            self.tell(HEARTBEAT_CLIENT, message, deadline=30.0)


def _described(signals: dict[str, SignalObservation]) -> str:
    return ", ".join(f"{signal} {one.available} of {one.capacity}" for signal, one in sorted(signals.items()))
