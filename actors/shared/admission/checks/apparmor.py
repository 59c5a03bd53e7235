"""Whether the AppArmor profiles of a pod can be enforced. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.container import SecurityContext
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers


def unavailable_apparmor(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """AppArmor, if a container's profile cannot be enforced. A pod that has run here is not asked again."""
    if node.apparmor or candidate.pod.status.phase not in ("", "Pending") or not wants_apparmor(candidate.pod):
        return None
    return Refusal("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")


def wants_apparmor(pod: Pod) -> bool:
    """Whether any container asks for an AppArmor profile."""
    whole = pod.spec.securityContext.appArmorProfile
    profiles = [
        (container.securityContext or SecurityContext()).appArmorProfile or whole for container in all_containers(pod)
    ]
    return any(profile is not None and profile.type != "Unconfined" for profile in profiles)


CHECK: Final = AdmissionCheck(100, unavailable_apparmor, of_admitted=True)
