"""Counts pods that were admitted before, without checks: their worker reports them after a restart."""

from __future__ import annotations

from actors.shared.kube.codec import ObjectError
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError

from ..messages import CountRunningPod
from ..resizes.pod_resizes import PodResizes
from ..topology.provider import AllocationError
from .candidate import read_candidate
from .counted_pods import CountedPods
from .parts import AdmissionParts


class RunningPods:
    """Answers CountRunningPod. The pod has its hardware already. Hardware that an earlier process did not record is
    allocated again."""

    def __init__(
        self,
        parts: AdmissionParts,
        resizes: PodResizes,
        counted: CountedPods,
    ) -> None:
        self._log, self._rules, self._cgroups, self._hardware = parts.log, parts.rules, parts.cgroups, parts.hardware
        self._resizes, self._counted = resizes, counted

    async def count(self, message: CountRunningPod) -> None:
        with self._counted.pending.start(message.uid) as admission:
            try:
                candidate, _ = read_candidate(message.uid, message.pod, self._rules)
                demand, limits = self._counted.during_resize(message.uid, candidate.pod, candidate.demand)
            except (ObjectError, QuantityError) as error:
                self._log.warning("pod %s is not counted, as it cannot be read: %s", message.uid, error)
                return
            await self._cgroups.ready_for_new_pod()
            if message.uid not in self._counted and not admission.withdrawn:
                self._restore(candidate.pod)
            if not admission.withdrawn:
                label = self._resizes.settled(message.uid)
                await self._counted.enter(candidate.pod, demand, limits, admission, running=True)
                self._resizes.resources_freed(label)

    def _restore(self, pod: Pod) -> None:
        try:
            self._hardware.restore(pod)
        except (AllocationError, OSError) as error:
            self._log.warning("pod %s runs on without hardware of its own: %s", pod.metadata.uid, error)
