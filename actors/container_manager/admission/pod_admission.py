"""Admits pods: runs the admission checks, allocates hardware, enters the pods that pass."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from actors.shared.admission.checks import first_refusal, refusal
from actors.shared.admission.request import PodAdmitAttributes, Refusal
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.resource_claims import without_claimed
from actors.shared.linux.cgroup_limits import CgroupLimits
from supervision.actor import AskError
from supervision.errors import error_text

from ..messages import AdmissionFailed, AdmitPod, PodAdmitted, PodRejected
from ..topology.provider import AllocationError
from .candidate import read_candidate
from .counted_pods import WITHDRAWN, CountedPods, is_uid
from .node_state import NodeView
from .parts import AdmissionParts
from .pending_admissions import PendingAdmission
from .preemption import StillEnding

PREEMPTS: Final = "pods that make room have not ended yet"

Answer = PodAdmitted | PodRejected | AdmissionFailed


class PodAdmission:
    """Answers AdmitPod."""

    def __init__(
        self,
        parts: AdmissionParts,
        node: NodeView,
        counted: CountedPods,
    ) -> None:
        self._log, self._rules, self._gate, self._preemption = parts.log, parts.rules, parts.gate, parts.preemption
        self._cgroups, self._hardware = parts.cgroups, parts.hardware
        self._node, self._counted, self._pending = node, counted, counted.pending

    async def admit(self, message: AdmitPod) -> Answer:
        with self._pending.start(message.uid) as admission:
            return await self._admit(message, admission)

    async def _admit(self, message: AdmitPod, admission: PendingAdmission) -> Answer:
        uid = message.uid
        try:
            candidate, limits = read_candidate(uid, message.pod, self._rules)
            if message.running:
                demand, limits = self._counted.during_resize(uid, candidate.pod, candidate.demand)
                candidate = replace(candidate, demand=demand)
        except (ObjectError, QuantityError) as error:
            return PodRejected(uid, "UnexpectedAdmissionError", f"the pod cannot be read: {error}")
        if not is_uid(uid):
            return PodRejected(uid, "UnexpectedAdmissionError", f"not a pod's UID: {uid!r}")
        await self._cgroups.ready_for_new_pod()
        ended_by = await self._gate.ended_by(uid, running=message.running)
        if ended_by:
            return AdmissionFailed(uid, ended_by)
        if message.over:
            return PodAdmitted(uid, "")
        new = not message.running and uid not in self._counted
        if new:
            await self._gate.running_pods_counted(uid)
        if admission.withdrawn:
            return AdmissionFailed(uid, WITHDRAWN)
        refused = first_refusal(candidate, self._node.state(message), admitted=not new)
        if refused is not None:
            return PodRejected(uid, refused.reason, refused.message)
        answer = await self._enter_with_hardware(candidate, limits, message, admission, new=new)
        freed = not message.running and uid not in self._counted and self._pending.is_last(admission)
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
        answer = await self._counted.enter(candidate.pod, candidate.demand, limits, admission, running=message.running)
        if isinstance(answer, PodAdmitted):
            return replace(answer, containers=containers, prepare=self._hardware.prepares(candidate.pod))
        return answer

    async def _allocate(
        self, pod: Pod, admission: PendingAdmission, *, running: bool
    ) -> dict[str, ContainerAllocation]:
        """Allocate hardware. A running pod that lacks some is not ended. Raises AllocationError, AskError, OSError."""
        try:
            return await self._hardware.allocate(
                without_claimed(pod), running=running, awaited=lambda: self._pending.is_newest(admission)
            )
        except AllocationError as error:
            if not running:
                raise
            self._log.warning("pod %s runs on without hardware of its own: %s", pod.metadata.uid, error)
            return {}

    async def _refusal(
        self, candidate: PodAdmitAttributes, message: AdmitPod, admission: PendingAdmission, *, new: bool
    ) -> Refusal | None:
        """Raises StillEnding if the pod waits for room of pods that are ending, or if no worker waits for it any
        more."""
        if new and candidate.demand.critical:
            return await self._preemption.make_room(
                candidate, lambda: self._node.state(message), lambda: admission.withdrawn
            )
        node = self._node.state(message)
        refused = refusal(candidate, self._preemption.afterwards(node, message.uid), admitted=not new)
        if refused is None and refusal(candidate, node, admitted=not new) is not None:
            raise StillEnding
        return refused
