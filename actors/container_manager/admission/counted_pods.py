"""The pods that count on this node: enters, withdraws and releases them, with their cgroups and records."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from actors.shared.admission.request import Demand, demand_of
from actors.shared.kube.pod import Pod
from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_limits import UNLIMITED, CgroupLimits
from actors.shared.pod_inventory import PodInventory
from supervision.errors import error_text

from ..cgroups.pod_limits import larger, pod_limits
from ..cgroups.systemd_slices import SliceError
from ..messages import ActuatedResources, AdmissionFailed, PodAdmitted
from ..resizes.pod_resizes import REMOVED, TERMINATED, PodResizes, at_least
from ..resizes.pod_resource_records import PodResourceRecords
from .ledger import Ledger
from .parts import AdmissionParts
from .pending_admissions import PendingAdmission, PendingAdmissions

WITHDRAWN: Final = "the pod was withdrawn before it was admitted"
_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}\Z")


def is_uid(text: str) -> bool:
    """Whether the UID may be part of a cgroup's name."""
    return _UID.match(text) is not None


class CountedPods:
    """The ledger, and what exists for each pod in it."""

    def __init__(
        self,
        parts: AdmissionParts,
        ledger: Ledger,
        records: PodResourceRecords,
        resizes: PodResizes,
    ) -> None:
        self._log, self._rules, self._gate, self._preemption = parts.log, parts.rules, parts.gate, parts.preemption
        self._cgroups, self._hardware = parts.cgroups, parts.hardware
        self._ledger, self._records, self._resizes = ledger, records, resizes
        self.pending = PendingAdmissions()

    def __contains__(self, uid: str) -> bool:
        return uid in self._ledger

    async def enter(
        self,
        pod: Pod,
        demand: Demand,
        limits: CgroupLimits,
        admission: PendingAdmission,
        *,
        running: bool,
        resized: bool = False,
    ) -> PodAdmitted | AdmissionFailed:
        """Count the pod, make its cgroup and record its resources. The pod may be withdrawn meanwhile."""
        uid = demand.uid
        self._ledger.add(demand)
        self._gate.pods_changed()
        if self._hardware.unthrottled(uid):
            limits = replace(limits, cpu_quota_us=UNLIMITED)
        try:
            path = await self._cgroups.create(demand, limits)
        except (CgroupError, SliceError) as error:
            if not running and self.pending.is_only(admission):
                self._ledger.drop(uid)
            self._log.warning("pod %s: its cgroup could not be made: %s", uid, error)
            return AdmissionFailed(uid, f"failed to ensure that the pod: {uid} cgroups exist: {error}", cgroup=True)
        if admission.withdrawn:
            if uid not in self._ledger:  # otherwise the pod has already returned
                await self._cgroups.remove(uid)
            return AdmissionFailed(uid, WITHDRAWN)
        return self._keep(pod, PodAdmitted(uid, path), admission, running=running, resized=resized)

    def _keep(
        self, pod: Pod, answer: PodAdmitted, admission: PendingAdmission, *, running: bool, resized: bool
    ) -> PodAdmitted | AdmissionFailed:
        """Record the pod's resources. A full disk does not stop a running pod, but it stops its resize."""
        uid = answer.uid
        try:
            self._records.allocate(uid, pod, resized=resized)
        except OSError as error:
            self._log.warning("pod %s: its resources are not kept: %s", uid, error)
            if running and not resized:
                return answer
            if not running and self.pending.is_only(admission):
                self._ledger.drop(uid)
            return AdmissionFailed(uid, f"its resources are not kept: {error_text(error)}")
        return answer

    def during_resize(self, uid: str, pod: Pod, demand: Demand) -> tuple[Demand, CgroupLimits]:
        """The demand and limits of a running pod: while a resize is under way, the larger of those before and after
        it. The kernel refuses less than what its containers have, or ends them (memory, cgroup v2). Raises
        QuantityError."""
        before, limits = self._records.still_has(uid, pod), pod_limits(pod, self._rules)
        if before is pod:
            return demand, limits
        return at_least(demand, demand_of(uid, before)), larger(limits, pod_limits(before, self._rules))

    def withdraw(self, uid: str, why: str = TERMINATED) -> None:
        """Stop counting the pod; its pending admissions fail. `why`: a label for the resizes that get its room."""
        self.pending.withdraw(uid)
        self._preemption.forget(uid)
        self._resizes.settled(uid)
        self._hardware.release(uid)
        self.free_requests(uid, why)

    def free_requests(self, uid: str, why: str = REMOVED) -> None:
        """Give the pod's requested resources to others. `why`: as for `withdraw`."""
        if self._ledger.drop(uid):
            self._cgroups.demand_changed()
            self._resizes.resources_freed(why)

    def release_unknown(self, inventory: PodInventory) -> None:
        """Release the hardware of pods that no worker has, and forget their resources. `inventory`: the pods of all
        workers.
        """

        def is_known(uid: str) -> bool:
            return uid in inventory or uid in self._ledger or self.pending.awaits(uid)

        self._hardware.release_unknown(is_known)
        for uid in self._records.uids():
            if not is_known(uid):
                self._records.forget(uid)

    async def release(self, uid: str) -> str:
        """Withdraw the pod and remove its cgroup. Returns the cgroups that are left and removed later; '' for none."""
        self.withdraw(uid)
        self._records.forget(uid)
        return await self._cgroups.remove(uid) if is_uid(uid) else ""

    def actuated(self, order: ActuatedResources) -> None:
        """Record the actuated resources of the pod's containers."""
        try:
            self._records.actuate(order)
        except OSError as error:
            # the next incarnation of the worker updates the containers once more
            self._log.warning("pod %s: its actuated resources are not kept: %s", order.uid, error)
