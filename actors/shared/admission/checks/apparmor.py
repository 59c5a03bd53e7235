"""Whether the AppArmor profiles of a pod can be enforced. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.apparmor import asks_for_profile


def unavailable_apparmor(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """AppArmor, if a container's profile cannot be enforced. A pod that has run here is not checked again."""
    if node.apparmor or candidate.pod.status.phase not in ("", "Pending") or not asks_for_profile(candidate.pod):
        return None
    return Refusal("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")


CHECK: Final = AdmissionCheck(100, unavailable_apparmor, of_admitted=True)
