"""The eviction manager: ends pods before the node runs out of memory, disk or process IDs.

A round each ten seconds, and at once when memory falls below a threshold in between: observe what is left, tell the
conditions, and for the most urgent threshold clean up the node itself, then evict one pod. Crash-only: who is evicted
is in a file, and the next incarnation goes on with that pod before it looks for another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, cast

from actors.api_clients.messages import EVENT_CLIENT, HEARTBEAT_CLIENT, NodePressure, node_event
from actors.container_manager.messages import CONTAINER_MANAGER, NodeEvictions
from actors.shared.admission.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.agent import Agent
from actors.shared.config.fields.eviction import Threshold
from actors.shared.cri.client import CriClient
from actors.shared.linux import cgroup_tree
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName

from .ending_pods import REPEAT_SECONDS, EndingPods
from .local_storage import is_limited
from .memory_notices import MemoryNotices
from .messages import PreemptPods
from .node_cleanup import NodeCleanup
from .node_observer import NodeObserver, Observed
from .oom_watcher import OomWatcher
from .resources import RESOURCE_OF, disk_of, reclaims
from .thresholds import Observation, ThresholdTracker, for_layout, headroom, is_met, still_met, watched
from .usage_reader import UsageReader
from .victims import evictable, of_threshold, over_limits, preempted, victim

ROUND_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 30.0
"""How long the next round waits for evicted pods to end."""
LOOK_SECONDS: Final = 0.25
"""Between looks at the memory when little is left above a threshold."""
FILL_BYTES_A_SECOND: Final = 2 << 30
"""So fast a node is taken to fill its memory: the next look comes before the headroom can be gone."""
DEFAULT_DISK_SECONDS: Final = 60.0


class EvictionManager(Actor):
    """`host`: the root directory of a made-up host; `clock`: monotonic seconds; `runtime`: a client of the runtime."""

    def __init__(
        self, host: str = "", clock: Callable[[], float] = time.monotonic, runtime: CriClient | None = None
    ) -> None:
        super().__init__()
        self._host, self._clock, self._runtime = host, clock, runtime
        self._news = asyncio.Event()
        self._conditions: frozenset[str] = frozenset()
        self._known = False
        """What the node is short of was observed, or is known from the incarnation before."""

    async def on_start(self) -> None:
        self._agent = agent = cast(Agent, self.context)
        tree = cgroup_tree.find(self._host)
        self._watched = watched(agent.config)
        self._ending = EndingPods(self, agent, self._tell_container_manager)
        self._ending.load()
        self._conditions = frozenset(self._ending.conditions(self._watched))
        self._known = self.incarnation > 1
        period = float(agent.config.evictionPressureTransitionPeriod)
        self._tracker = ThresholdTracker(self._watched, period, self._conditions, self._clock())
        self._observer = NodeObserver(self, agent, tree, self._host)
        self._usage = UsageReader(self, agent, tree, self._runtime)
        self._cleanup = NodeCleanup(self, agent.workers)
        notifies = agent.config.kernelMemcgNotification
        self._notices = MemoryNotices(tree, self._news.set, self.log, notifies=notifies, proc=f"{self._host}/proc")
        self._notices.begin()
        OomWatcher(self, agent, self._usage, self._host).begin()
        self._tell_container_manager()
        self.every(REPEAT_SECONDS, self._ending.look)
        self.start_task(self._run(), "rounds")
        if agent.config.localStorageCapacityIsolation and not agent.standalone:
            period = float(agent.config.volumeStatsAggPeriod)
            self.every(period if period > 0 else DEFAULT_DISK_SECONDS, self._hold_limits, jitter=0.1)

    async def on_hello(self, name: ActorName) -> None:
        if name == CONTAINER_MANAGER:
            self._tell_container_manager()
        elif self._known:
            self._tell_pressure()

    # -- rounds -------------------------------------------------------------------------------------------------------
    async def _run(self) -> None:
        disks, waited_for = True, frozenset[str]()
        while True:
            if self._ending.stopping - waited_for:
                waited_for = await self._settle(waited_for)
            began = self._clock()
            observed = await self._round(disks=disks)
            if not self._ending.stopping - waited_for:
                disks = await self._wait(began, observed)

    async def _settle(self, waited_for: frozenset[str]) -> frozenset[str]:
        """Wait until what evicted pods used is free, for each pod once. The pods that have not ended."""
        end = self._clock() + SETTLE_SECONDS
        while self._ending.stopping - waited_for and self._clock() < end:
            await self._sleep(REPEAT_SECONDS)
        return self._ending.stopping

    async def _wait(self, began: float, last: Observed) -> bool:
        """Until the next round: whether it is the regular one, or one for the memory only, which has fallen below a
        threshold."""
        was_met = {one for one in self._watched if is_met(one, last.signals)}
        self._notices.arm(self._watched, last.signals, self._observer.kubepods)
        while (left := began + ROUND_SECONDS - self._clock()) > 0:
            room = headroom(self._watched, last.signals)
            pause = left if room is None else min(left, max(LOOK_SECONDS, room / FILL_BYTES_A_SECOND))
            await self._sleep(pause)
            last = Observed(self._observer.memory())
            if any(is_met(one, last.signals) for one in self._watched if one not in was_met):
                return False
        return True

    async def _sleep(self, seconds: float) -> None:
        timer = self.after(seconds, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()
        self._news.clear()

    async def _round(self, *, disks: bool) -> Observed:
        observed, now = await self._observer.observe(disks=disks), self._clock()
        verdict = self._tracker.observe(observed.signals, now, observed.layout)
        self._set_conditions(verdict.conditions, observed.signals)
        if verdict.due:
            await self._reclaim(verdict.due[0], observed, now)
        return observed

    def _set_conditions(self, conditions: frozenset[str], signals: dict[str, Observation]) -> None:
        before, self._conditions = self._conditions, conditions
        for name in conditions - before:
            self.log.warning("the node has %s: %s", name, _described(signals))
        for name in before - conditions:
            self.log.info("the node has no %s any more", name)
        if conditions != before or not self._known:
            self._known = True
            self._ending.keep_conditions(conditions, self._watched)
            self._tell_container_manager()
            self._tell_pressure()

    # -- eviction -----------------------------------------------------------------------------------------------------
    async def _reclaim(self, threshold: Threshold, observed: Observed, at: float) -> None:
        """`at`: when it was observed."""
        self._record(threshold)
        cleaned = reclaims(threshold.signal, observed.layout)
        for what in cleaned:
            await self._cleanup.remove(what)
        if cleaned:
            after = await self._observer.observe()
            if after.signals and not still_met(for_layout(self._watched, after.layout), after.signals):
                self.log.info("enough is free again without evicting a pod: %s", _described(after.signals))
                return
        await self._evict(threshold, observed, at)

    def _record(self, threshold: Threshold) -> None:
        self.log.warning("%s is below its threshold", threshold.signal)
        if not self._agent.standalone:
            text = f"Attempting to reclaim {RESOURCE_OF[threshold.signal]}"
            event = node_event(self._agent.node_name, "EvictionThresholdMet", text, "Warning")
            self.tell(EVENT_CLIENT, event, deadline=60.0)

    async def _evict(self, threshold: Threshold, observed: Observed, at: float) -> None:
        """One pod."""
        signal = threshold.signal
        known = await self._usage.pods()
        pods = evictable(known or [], self._ending.uids)
        usages = await (self._usage.disks(pods) if disk_of(signal) else self._usage.memory(pods))
        found = victim(pods, usages, signal, observed.layout) if usages is not None else None
        if found is None or usages is None:
            self.log.warning("%s is below its threshold, and there is no pod to evict", signal)
            return
        usage = usages.get(found.uid)
        if usage is not None and RESOURCE_OF[signal] == "memory":
            usage = self._usage.with_containers(found, usage)
        self.metrics.observe("kubelet_eviction_stats_age_seconds", self._clock() - at, eviction_signal=signal)
        most = self._agent.config.evictionMaxPodGracePeriod
        self._ending.add(of_threshold(found, usage, threshold, observed.signals.get(signal), most))
        self._news.set()

    @on(PreemptPods)
    async def on_preempt(self, message: PreemptPods, sender: Address) -> None:
        uids = frozenset(message.uids) - self._ending.uids
        for ending in preempted(await self._usage.pods() or [] if uids else [], uids, message.resource):
            self._ending.add(ending)

    async def _hold_limits(self) -> None:
        """Evict the pods that are over a limit of their local storage. Only pods with limits are measured."""
        pods = [one for one in evictable(await self._usage.pods() or [], self._ending.uids) if is_limited(one.pod)]
        if not pods:
            return
        usages, layout = await self._usage.disks(pods), (await self._observer.observe()).layout
        for ending in over_limits(pods, usages or {}, layout):
            self._ending.add(ending)

    # -- what is told -------------------------------------------------------------------------------------------------
    def _tell_container_manager(self) -> None:
        message = NodeEvictions(sorted(self._conditions), sorted(self._ending.uids))
        self.tell(CONTAINER_MANAGER, message, deadline=30.0)

    def _tell_pressure(self) -> None:
        if not self._agent.standalone:
            held = self._conditions
            message = NodePressure(
                memory=MEMORY_PRESSURE in held, disk=DISK_PRESSURE in held, pids=PID_PRESSURE in held
            )
            self.tell(HEARTBEAT_CLIENT, message, deadline=30.0)


def _described(signals: dict[str, Observation]) -> str:
    return ", ".join(f"{signal} {one.available} of {one.capacity}" for signal, one in sorted(signals.items()))
