"""The container manager: admits pods, and keeps their cgroups.

The ledger of who is on the node is not kept anywhere: after a restart the workers tell it again, pods that run first.
Until then new pods wait, at most a second, and only when there are cgroups of pods that nobody has told of yet.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import Final, Literal, cast

from actors.api_clients.messages import EVENT_CLIENT, HEARTBEAT_CLIENT, node_event
from actors.pod_workers.messages import KnownPods, pod_workers
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.linux import cgroup_tree, oom
from actors.shared.linux.cgroup_limits import UNLIMITED, Limits
from actors.shared.linux.cgroup_names import parse_root
from actors.shared.linux.cgroup_tree import CgroupError
from actors.shared.linux.command import Runner, run
from actors.shutdown_manager.messages import NodeShutdown
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.complaints import Complaints
from supervision.protocol import Hello

from . import node_resources
from .cgroup_driver import DriverChoice
from .cgroup_lock import Claim
from .ledger import Entry, Ledger, entry_of
from .messages import (
    AdmissionFailed,
    AdmitPod,
    GetNodeResources,
    NodeResources,
    PodAdmitted,
    PodRejected,
    PodReleased,
    ReleasePod,
    ResizePod,
    StopCounting,
)
from .pending_admissions import Admission, Admissions
from .periodic_tasks import Chores
from .pod_cgroups import PodCgroups
from .pod_limits import larger, milli_to_shares, pod_limits, rules_of, size_name
from .pressure import refuse
from .pressure_monitor import Shortage
from .qos_limits import tier_limits
from .reserved_cgroups import hold_reserved
from .shutdown_admission import Leaving
from .systemd_slices import SliceError, Slices

HOLD_SECONDS: Final = 1.0
"""The longest that new pods wait for the workers to tell what runs."""
ENFORCE_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 0.02
"""Pods that come together change the tiers' limits once."""
ORPHAN_SECONDS: Final = 10.0
RETRY_SECONDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
WITHDRAWN: Final = "it was withdrawn before it was admitted"
_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}\Z")


class ContainerManager(Actor):
    """See messages.py for what it is told."""

    def __init__(self, host: str = "", runner: Runner = run) -> None:
        """`host`: the root directory of a made-up host; `runner`: what runs busctl and iptables."""
        super().__init__()
        self._host, self._runner = host, runner

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        os.makedirs(self._agent.root_dir, 0o750, exist_ok=True)
        self._capacity = node_resources.capacity(self._agent.config, self._agent.root_dir, self._host)
        self._allocatable = node_resources.allocatable(
            self._capacity,
            self._agent.config,
            with_thresholds=not self._agent.flags.get("experimental-allocatable-ignore-eviction"),
        )
        self._ledger = Ledger(self._allocatable)
        self._tree = cgroup_tree.find(self._host)
        self._known: dict[str, frozenset[str]] = {}
        self._workers = 0
        self._unknown: set[str] = set()
        self._left: dict[str, int] = {}
        self._complaints = Complaints(self.log)
        self._tiers: dict[str, Limits] = {}
        self._shares_due = self._enforced = False
        self._prepared, self._released = asyncio.Event(), asyncio.Event()
        self._driver, self._choosing = DriverChoice(self, self._agent, self._host), asyncio.Lock()
        self._shortage = Shortage(self, self._agent, self._host)
        self._leaving = Leaving(self, self._agent)
        self._admissions = Admissions()
        self._protect()
        self.metrics.gauge("kubelet_cgroup_version", self._tree.version)
        self.start_task(self._prepare(), "prepare")
        self.after(0.0, self._ask_workers)
        self._shortage.begin()
        self._leaving.begin()
        Chores(self, self._agent, self._complaints, self._host, self._runner).begin()

    async def on_hello(self, name: ActorName) -> None:
        if name == HEARTBEAT_CLIENT and self._shortage.short:
            self._shortage.tell()

    def _protect(self) -> None:
        score = self._agent.config.oomScoreAdj
        if not self._host and not oom.set_score(score):
            self.log.warning("oom_score_adj stays as it is: %d is not permitted here", score)

    def _ask_workers(self) -> None:
        for worker in pod_workers(self._agent.workers):
            self.tell(worker, Hello(self.name, self.incarnation), deadline=30.0)

    # -- the tree of cgroups ------------------------------------------------------------------------------------------
    async def _prepare(self) -> None:
        """What must be known before the first pod: the driver, the tiers, and which pods have cgroups."""
        await self._use(await self._driver.choose())
        if self._agent.config.cgroupsPerQOS:
            self.every(ENFORCE_SECONDS, self._enforce_again, jitter=0.1)
        self._prepared.set()
        self._release_if_told()
        self.after(HOLD_SECONDS, self._released.set)

    async def _use(self, driver: str) -> None:
        """Make the tiers' cgroups with this driver, and see which pods have some."""
        slices = Slices(self._tree.version, self._runner) if driver == "systemd" else None
        root = parse_root(self._agent.cgroup_root, driver)
        self._cgroups = PodCgroups(self._tree, root, slices)
        self._claim = Claim(f"{self._host}{self._cgroups.top}")
        if self._agent.config.cgroupsPerQOS:
            await self._enforce()
            self._expected = frozenset(self._cgroups.present())
        else:
            self._expected = frozenset()

    async def _make_sure(self) -> None:
        """The runtime did not answer at the start: it is asked again, now that a pod comes."""
        await self._prepared.wait()
        came = time.monotonic()
        async with self._choosing:
            if self._driver.due(came):
                driver = await self._driver.choose()
                if driver != self._cgroups.driver:
                    await self._use(driver)

    async def _enforce(self) -> None:
        """Hold all pods together to what the node can give, and the tiers to their shares."""
        most = node_resources.enforced(self._capacity, self._agent.config)
        limits = Limits(
            cpu_shares=milli_to_shares(most["cpu"]),
            memory_bytes=most["memory"] if most["memory"] > 0 else UNLIMITED,
            hugetlb={size_name(name): value for name, value in most.items() if name.startswith("hugepages-")},
        )
        try:
            await self._cgroups.ensure_tiers(limits)
            await self._set_tiers(again=True)
        except (CgroupError, SliceError) as error:
            self._complaints.say("enforce", f"the limits of all pods are not enforced (tried each minute): {error}")
            text = f"Failed to update Node Allocatable Limits {self._cgroups.top!r}: {error}"
            self._record("Warning", "FailedNodeAllocatableEnforcement", text)
        else:
            self._complaints.well("enforce")
            self._tell_enforced()
        hold_reserved(self._agent.config, self._cgroups.driver, self._tree, self._complaints)

    def _tell_enforced(self) -> None:
        """The node's event of it: once in a life of the agent, and where the limits are those of the node."""
        if self.incarnation == 1 and not self._enforced and "pods" in self._agent.config.enforceNodeAllocatable:
            self._record("Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
        self._enforced = True

    def _record(self, kind: Literal["Normal", "Warning"], reason: str, text: str) -> None:
        """An event of the node."""
        if not self._agent.standalone:
            self.tell(EVENT_CLIENT, node_event(self._agent.node_name, reason, text, kind), deadline=60.0)

    async def _enforce_again(self) -> None:
        await self._enforce()
        self._look()

    def _shares_changed(self) -> None:
        if not self._shares_due and self._agent.config.cgroupsPerQOS:
            self._shares_due = True
            self.after(SETTLE_SECONDS, self._set_shares)

    async def _set_shares(self) -> None:
        self._shares_due = False
        try:
            await self._set_tiers()
        except (CgroupError, SliceError) as error:
            self._complaints.say("shares", f"the QoS tiers keep their old limits: {error}")
        else:
            self._complaints.well("shares")

    async def _set_tiers(self, *, again: bool = False) -> None:
        """Those that are to be other than they were set; with `again` all."""
        config = self._agent.config
        memory = max(0, self._capacity["memory"] - node_resources.reserved(config).get("memory", 0))
        for qos, limits in tier_limits(self._ledger, memory, config.qosReserved).items():
            if again or self._tiers.get(qos) != limits:
                await self._cgroups.set_tier(qos, limits)
                self._tiers[qos] = limits

    # -- admission ----------------------------------------------------------------------------------------------------
    @on(AdmitPod)
    async def on_admit(self, message: AdmitPod, sender: Address) -> PodAdmitted | PodRejected | AdmissionFailed | None:
        with self._admissions.begin(message.uid) as admission:
            answer = await self._admit(message, admission)
        return answer if sender.ask else None  # a worker that only tells who runs wants no answer

    async def _admit(self, message: AdmitPod, admission: Admission) -> PodAdmitted | PodRejected | AdmissionFailed:
        uid = message.uid
        try:
            pod = decode_pod(message.pod)
            entry, limits = entry_of(uid, pod), pod_limits(pod, rules_of(self._agent.config))
        except (ObjectError, QuantityError) as error:
            return self._rejected(uid, "UnexpectedAdmissionError", f"the pod cannot be read: {error}")
        if not _UID.match(uid):
            return self._rejected(uid, "UnexpectedAdmissionError", f"not a pod's UID: {uid!r}")
        await self._make_sure()
        if not message.running:
            await self._leaving.told()
            if self._leaving.ends(uid, counted=uid in self._ledger):
                return AdmissionFailed(uid, "the shutdown of the node ends it")
        if message.over:
            return PodAdmitted(uid, "")
        new = not message.running and uid not in self._ledger
        if new:
            self._expected -= {uid}
            self._release_if_told()
            await self._released.wait()
        if admission.withdrawn:
            return AdmissionFailed(uid, WITHDRAWN)
        if new:
            refusal = self._leaving.refuse() or refuse(pod, self._shortage.short) or self._ledger.refuse(entry)
            if refusal is not None:
                return self._rejected(uid, refusal.reason, refusal.message)
        return await self._enter(entry, limits, admission, running=message.running)

    @on(NodeShutdown)
    def on_node_shutdown(self, message: NodeShutdown, sender: Address) -> None:
        self._leaving.learn(message)

    @on(ResizePod)
    async def on_resize(self, message: ResizePod, sender: Address) -> PodAdmitted | PodRejected | AdmissionFailed:
        try:
            pod, before = decode_pod(message.pod), decode_pod(message.before)
            entry, rules = entry_of(message.uid, pod), rules_of(self._agent.config)
            limits = larger(pod_limits(pod, rules), pod_limits(before, rules))
        except (ObjectError, QuantityError) as error:
            return PodRejected(message.uid, "Infeasible", f"the pod cannot be read: {error}")
        with self._admissions.begin(message.uid) as admission:
            await self._prepared.wait()
            if admission.withdrawn:
                return AdmissionFailed(message.uid, WITHDRAWN)
            refusal = self._ledger.refuse_resize(entry)
            if refusal is not None:
                return PodRejected(message.uid, refusal.reason, refusal.message)
            return await self._enter(entry, limits, admission, running=True)

    async def _enter(
        self, entry: Entry, limits: Limits, admission: Admission, *, running: bool
    ) -> PodAdmitted | AdmissionFailed:
        """Of one that stands; it may be withdrawn while its cgroup is made."""
        self._ledger.add(entry)
        self._unknown.discard(entry.uid)
        self._left.pop(entry.uid, None)
        self._release_if_told()
        if not self._agent.config.cgroupsPerQOS:
            return PodAdmitted(entry.uid, "")
        self._shares_changed()
        try:
            path = await self._cgroups.ensure_pod(entry.uid, entry.qos, limits)
        except (CgroupError, SliceError) as error:
            if not running and self._admissions.alone(admission):
                self._ledger.drop(entry.uid)
            self.log.warning("pod %s: its cgroup could not be made: %s", entry.uid, error)
            return AdmissionFailed(entry.uid, f"failed to ensure that the pod: {entry.uid} cgroups exist: {error}")
        if admission.withdrawn:
            if entry.uid not in self._ledger:  # it has not come back already
                await self._remove(entry.uid)
            return AdmissionFailed(entry.uid, WITHDRAWN)
        return PodAdmitted(entry.uid, path)

    def _rejected(self, uid: str, reason: str, message: str) -> PodRejected:
        self.metrics.count("kubelet_admission_rejections_total", reason=reason)
        return PodRejected(uid, reason, message)

    def _release_if_told(self) -> None:
        """New pods need not wait when every pod that can be running is in the ledger, or every worker has told."""
        if self._prepared.is_set() and (self._complete or all(uid in self._ledger for uid in self._expected)):
            self._released.set()

    # -- the end of pods ----------------------------------------------------------------------------------------------
    @on(StopCounting)
    async def on_stop_counting(self, message: StopCounting, sender: Address) -> None:
        """A coroutine, though it never waits: so it begins after the admissions that came before it."""
        self._withdraw(message.uid)

    def _withdraw(self, uid: str) -> None:
        """The pod is not counted any more, and not by what has begun to admit it and waits."""
        self._admissions.withdraw(uid)
        if self._ledger.drop(uid):
            self._shares_changed()

    @on(ReleasePod)
    async def on_release(self, message: ReleasePod, sender: Address) -> PodReleased:
        self._withdraw(message.uid)
        if not self._agent.config.cgroupsPerQOS or not _UID.match(message.uid):
            return PodReleased(message.uid)
        await self._prepared.wait()
        return PodReleased(message.uid, await self._remove(message.uid))

    async def _remove(self, uid: str) -> str:
        try:
            left = await self._cgroups.remove(uid, lambda: uid in self._ledger)
        except (CgroupError, SliceError) as error:
            left = str(error)
        if left and uid not in self._ledger:
            tries = self._left[uid] = self._left.get(uid, 0) + 1
            self.after(RETRY_SECONDS[min(tries, len(RETRY_SECONDS)) - 1], lambda: self._remove_again(uid))
        else:
            self._left.pop(uid, None)
        return left

    async def _remove_again(self, uid: str) -> None:
        if uid in self._left and uid not in self._ledger:
            left = await self._remove(uid)
            if left and self._left.get(uid) == len(RETRY_SECONDS):
                self.log.warning("cgroups of pod %s are still in use (tried each minute): %s", uid, left)

    # -- orphans ------------------------------------------------------------------------------------------------------
    @on(KnownPods)
    async def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        forgotten = self._known.get(message.worker, frozenset()) - frozenset(message.uids)
        self._known[message.worker], self._workers = frozenset(message.uids), message.workers
        for uid in forgotten:
            if not self._is_known(uid):
                self._withdraw(uid)
        await self._prepared.wait()
        self._release_if_told()
        self._look()

    @property
    def _complete(self) -> bool:
        """Whether every worker has told its pods."""
        return 0 < self._workers <= len(self._known)

    def _is_known(self, uid: str) -> bool:
        return any(uid in uids for uids in self._known.values())

    def _orphans(self) -> set[str]:
        """Pods with cgroups, that no worker knows."""
        if not self._complete or not self._agent.config.cgroupsPerQOS:
            return set()
        return {uid for uid in self._cgroups.present() if not self._is_known(uid) and uid not in self._ledger}

    def _look(self) -> None:
        """What belongs to no pod, and does not for a while, is removed."""
        new = self._orphans() - self._unknown
        if new:
            self._unknown |= new
            self.after(ORPHAN_SECONDS, lambda: self._sweep(new))

    async def _sweep(self, found: set[str]) -> None:
        """Remove those that are still nobody's. What has processes is left alone: it may be another agent's pod."""
        due = self._orphans() & found & self._unknown - self._left.keys()
        self._unknown -= found
        if due and not self._claim.held():
            self._complaints.say(
                "claim", f"another agent uses the cgroups {self._cgroups.top}: set cgroupRoot for one of them"
            )
            return
        for uid in sorted(due):
            if self._cgroups.busy(uid):
                self._complaints.say(uid, f"cgroup of pod {uid}, which is not ours, has processes: left alone")
            elif not await self._remove(uid) and uid not in self._ledger:
                self.log.info("cgroup of pod %s, which no worker knows, is removed", uid)

    # -- asked --------------------------------------------------------------------------------------------------------
    @on(GetNodeResources)
    async def on_get_node_resources(self, message: GetNodeResources, sender: Address) -> NodeResources:
        await self._prepared.wait()
        return NodeResources(
            self._capacity,
            self._allocatable,
            self._ledger.requested(),
            len(self._ledger),
            self._cgroups.driver,
            self._cgroups.version,
        )
