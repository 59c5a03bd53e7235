"""Admits and resizes pods: allocates hardware, runs the admission checks, enters the pods that pass them."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec.structs import replace

from actors.shared.admission.checks import first_refusal, refusal
from actors.shared.admission.request import NodeState, PodAdmitAttributes, Refusal, demand_of
from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.declared_features import declared_features
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.resource_claims import without_claimed
from actors.shared.linux.cgroup_limits import CgroupLimits
from supervision.actor import Actor, AskError
from supervision.errors import error_text

from .cgroup_setup import CgroupSetup
from .counted_pods import WITHDRAWN, CountedPods, is_uid
from .eviction_admission import EvictionAdmission
from .ledger import Ledger
from .messages import AdmissionFailed, AdmitPod, CountRunningPod, PodAdmitted, PodRejected, ResizePod
from .node_resources import NodeResourceTotals
from .pending_admissions import PendingAdmission
from .pod_limits import Rules, larger, pod_limits, rules_of
from .pod_resizes import UPDATED, PodResizes
from .preemption import StillEnding
from .resize_queue import WaitingResize
from .shutdown_admission import ShutdownAdmission
from .startup_hold import StartupHold
from .topology.pod_hardware import PodHardware
from .topology.provider import AllocationError

ENDED: Final = "the shutdown of the node ends it"
PREEMPTS: Final = "pods that make room have not ended yet"
EVICTED: Final = "the eviction manager ends it"

Answer = PodAdmitted | PodRejected | AdmissionFailed


class PodAdmission:
    """Answers AdmitPod, CountRunningPod and ResizePod."""

    def __init__(
        self,
        actor: Actor,
        config: KubeletConfiguration,
        totals: NodeResourceTotals,
        ledger: Ledger,
        setup: CgroupSetup,
        hold: StartupHold,
        evictions: EvictionAdmission,
        shutdown: ShutdownAdmission,
        hardware: PodHardware,
        resizes: PodResizes,
        counted: CountedPods,
    ) -> None:
        self._actor, self._config, self._totals, self._ledger = actor, config, totals, ledger
        self._setup, self._hold, self._evictions, self._shutdown = setup, hold, evictions, shutdown
        self._hardware, self._resizes = hardware, resizes
        self.counted, self._pending = counted, counted.pending

    @property
    def _rules(self) -> Rules:
        return rules_of(self._config, self._totals.capacity)

    async def admit(self, message: AdmitPod) -> Answer:
        with self._pending.begin(message.uid) as admission:
            return await self._admit(message, admission)

    async def count(self, message: CountRunningPod) -> None:
        """Add a pod that was admitted before, without checks. It has its hardware already; what an earlier process
        did not keep of that is allocated again."""
        with self._pending.begin(message.uid) as admission:
            try:
                candidate, limits = self._read(message.uid, message.pod)
            except (ObjectError, QuantityError) as error:
                self._actor.log.warning("pod %s is not counted, as it cannot be read: %s", message.uid, error)
                return
            await self._setup.renew()
            if message.uid not in self._ledger and not admission.withdrawn:
                self._restore(candidate.pod)
            if not admission.withdrawn:
                self._resizes.forget(message.uid)
                await self.counted.enter(candidate.pod, candidate.demand, limits, admission, running=True)
                self._resizes.room_is_free(UPDATED)

    def _restore(self, pod: Pod) -> None:
        try:
            self._hardware.restore(pod)
        except (AllocationError, OSError) as error:
            self._actor.log.warning("pod %s runs on without hardware of its own: %s", pod.metadata.uid, error)

    def _read(self, uid: str, data: bytes) -> tuple[PodAdmitAttributes, CgroupLimits]:
        """Raises ObjectError, QuantityError."""
        pod = decode_pod(data)
        pod = replace(pod, metadata=replace(pod.metadata, uid=uid))
        return PodAdmitAttributes(pod, demand_of(uid, pod)), pod_limits(pod, self._rules)

    async def _admit(self, message: AdmitPod, admission: PendingAdmission) -> Answer:
        uid = message.uid
        try:
            candidate, limits = self._read(uid, message.pod)
        except (ObjectError, QuantityError) as error:
            return PodRejected(uid, "UnexpectedAdmissionError", f"the pod cannot be read: {error}")
        if not is_uid(uid):
            return PodRejected(uid, "UnexpectedAdmissionError", f"not a pod's UID: {uid!r}")
        await self._setup.renew()
        if not message.running:
            await self._evictions.known()
            await self._shutdown.known()
            if self._shutdown.ends(uid, counted=uid in self._ledger):
                return AdmissionFailed(uid, ENDED)
        if self._evictions.ends(uid):
            return AdmissionFailed(uid, EVICTED)
        if message.over:
            return PodAdmitted(uid, "")
        new = not message.running and uid not in self._ledger
        if new:
            self._hold.update(not_running=uid)
            await self._hold.wait()
        if admission.withdrawn:
            return AdmissionFailed(uid, WITHDRAWN)
        refused = first_refusal(candidate, self._node(message), admitted=not new)
        if refused is not None:
            return PodRejected(uid, refused.reason, refused.message)
        answer = await self._enter_with_hardware(candidate, limits, message, admission, new=new)
        freed = not message.running and uid not in self._ledger and self._pending.last(admission)
        if freed and not isinstance(answer, PodAdmitted):
            self._hardware.release(uid)
        return answer

    async def _enter_with_hardware(
        self,
        candidate: PodAdmitAttributes,
        limits: CgroupLimits,
        message: AdmitPod,
        admission: PendingAdmission,
        *,
        new: bool,
    ) -> Answer:
        """Allocate hardware, run the checks that come after that, and enter the pod."""
        uid = message.uid
        try:
            containers = await self._allocate(candidate.pod, admission, running=message.running)
            if admission.withdrawn:
                return AdmissionFailed(uid, WITHDRAWN)
            served = self._hardware.served(uid)
            candidate = replace(candidate, demand=replace(candidate.demand, served=served))
            refused = await self._refusal(candidate, message, admission, new=new)
        except AllocationError as error:
            refused = error.refusal()
        except (AskError, OSError) as error:
            return AdmissionFailed(uid, f"its hardware is not allocated: {error_text(error)}")
        except StillEnding:
            return AdmissionFailed(uid, PREEMPTS)
        if refused is not None:
            return PodRejected(uid, refused.reason, refused.message)
        answer = await self.counted.enter(candidate.pod, candidate.demand, limits, admission, running=message.running)
        if isinstance(answer, PodAdmitted):
            return replace(answer, containers=containers, prepare=self._hardware.prepares(candidate.pod))
        return answer

    async def _allocate(
        self, pod: Pod, admission: PendingAdmission, *, running: bool
    ) -> dict[str, ContainerAllocation]:
        """A pod that runs already is not ended for what it lacks. Raises AllocationError, AskError,
        OSError."""
        try:
            return await self._hardware.allocate(
                without_claimed(pod), running=running, awaited=lambda: self._pending.newest(admission)
            )
        except AllocationError as error:
            if not running:
                raise
            self._actor.log.warning("pod %s runs on without hardware of its own: %s", pod.metadata.uid, error)
            return {}

    async def _refusal(
        self, candidate: PodAdmitAttributes, message: AdmitPod, admission: PendingAdmission, *, new: bool
    ) -> Refusal | None:
        """Raises StillEnding: the pod waits for room that others are about to leave, or nobody waits for it any
        more."""
        if new and candidate.demand.critical:
            return await self._resizes.preemption.make_room(
                candidate, lambda: self._node(message), lambda: admission.withdrawn
            )
        node = self._node(message)
        refused = refusal(candidate, self._resizes.preemption.afterwards(node, message.uid), admitted=not new)
        if refused is None and refusal(candidate, node, admitted=not new) is not None:
            raise StillEnding
        return refused

    def _node(self, message: AdmitPod) -> NodeState:
        gate = partial(enabled, overrides=self._config.featureGates)
        return NodeState(
            allocatable=self._totals.allocatable,
            usage=self._ledger.usage(without=message.uid),  # an earlier question about it may have entered it by now
            conditions=self._evictions.conditions,
            shutting_down=self._shutdown.active,
            allowed_sysctls=self._config.allowedUnsafeSysctls,
            object=message.node,
            strict_groups=message.strict_groups,
            apparmor=message.apparmor,
            claims=message.claims,
            extended_claims=message.extended_claims,
            pod_level=gate("PodLevelResources"),
            features=frozenset(declared_features(gate)) if gate("NodeDeclaredFeatures") else None,
        )

    async def resize(self, message: ResizePod) -> Answer:
        uid, rules = message.uid, self._rules
        try:
            pod, before = decode_pod(message.pod), decode_pod(message.before)
            demand, limits = demand_of(uid, pod), larger(pod_limits(pod, rules), pod_limits(before, rules))
        except (ObjectError, QuantityError) as error:
            return PodRejected(uid, "Infeasible", f"the pod cannot be read: {error}")
        with self._pending.begin(uid) as admission:
            await self._setup.done()
            asked = WaitingResize(demand_of(uid, before), demand, message.since)
            refused = self._resizes.infeasible(pod, before)
            if refused is None and not admission.withdrawn:
                refused = await self._resizes.decide(asked)
            if admission.withdrawn:
                return AdmissionFailed(uid, WITHDRAWN)
            if refused is not None:
                return PodRejected(uid, refused.reason, refused.message, refused.detail)
            return await self.counted.enter(pod, demand, limits, admission, running=True, resized=True)
