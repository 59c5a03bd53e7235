"""Answers ResizePod: a pod that is counted asks for other resources."""

from __future__ import annotations

from actors.shared.admission.request import demand_of
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.quantity import QuantityError

from ..cgroups.pod_limits import larger, pod_limits
from ..messages import AdmissionFailed, PodAdmitted, PodRejected, ResizePod
from ..resizes.pod_resizes import PodResizes
from ..resizes.resize_queue import WaitingResize
from .counted_pods import WITHDRAWN, CountedPods
from .parts import AdmissionParts


class ResizeAdmission:
    """The pod's cgroup gets the larger of both limits, and of those that its containers still have; its worker shrinks
    it once the containers are resized."""

    def __init__(self, parts: AdmissionParts, resizes: PodResizes, counted: CountedPods) -> None:
        self._rules, self._cgroups, self._resizes, self._counted = parts.rules, parts.cgroups, resizes, counted

    async def resize(self, message: ResizePod) -> PodAdmitted | PodRejected | AdmissionFailed:
        uid, rules = message.uid, self._rules
        try:
            pod, before = decode_pod(message.pod), decode_pod(message.before)
            demand = demand_of(uid, pod)
            _, limits = self._counted.during_resize(uid, pod, demand)
            limits = larger(limits, pod_limits(before, rules))
        except (ObjectError, QuantityError) as error:
            return PodRejected(uid, "Infeasible", f"the pod cannot be read: {error}")
        with self._counted.pending.start(uid) as admission:
            await self._cgroups.ready()
            waiting = WaitingResize(demand_of(uid, before), demand, message.since)
            refused = self._resizes.infeasible(pod, before)
            if refused is None and not admission.withdrawn:
                refused = await self._resizes.decide(waiting)
            if admission.withdrawn:
                return AdmissionFailed(uid, WITHDRAWN)
            if refused is not None:
                return PodRejected(uid, refused.reason, refused.message, refused.detail)
            demand = self._resizes.counted(demand)
            return await self._counted.enter(pod, demand, limits, admission, running=True, resized=True)
