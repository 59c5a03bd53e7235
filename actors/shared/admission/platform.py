"""Whether node and runtime support a pod's operating system, supplementalGroupsPolicy and AppArmor profiles. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.kube.container import SecurityContext
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers, is_static
from actors.shared.kube.resource_claims import has_claims, is_extended

from .request import Candidate, NodeState, Refusal

OS_LABEL: Final = "kubernetes.io/os"
OS: Final = "linux"


def other_os(candidate: Candidate, node: NodeState) -> Refusal | None:
    """PodOSSelectorNodeLabelDoesNotMatch or PodOSNotSupported: by the pod's label, then by its field."""
    pod = candidate.pod
    if pod.metadata.labels.get(OS_LABEL, OS) != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Refusal("PodOSSelectorNodeLabelDoesNotMatch", text)
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None


def unsupported_groups_policy(candidate: Candidate, node: NodeState) -> Refusal | None:
    """SupplementalGroupsPolicyNotSupported."""
    if node.strict_groups or not wants_strict_groups(candidate.pod):
        return None
    text = 'the runtime does not support supplementalGroupsPolicy "Strict"'
    return Refusal("SupplementalGroupsPolicyNotSupported", text)


def unavailable_apparmor(candidate: Candidate, node: NodeState) -> Refusal | None:
    """AppArmor, if a container's profile cannot be enforced."""
    if node.apparmor or not wants_apparmor(candidate.pod):
        return None
    return Refusal("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")


def wants_strict_groups(pod: Pod) -> bool:
    return pod.spec.securityContext.supplementalGroupsPolicy == "Strict"


def wants_apparmor(pod: Pod) -> bool:
    """Whether any container asks for an AppArmor profile."""
    whole = pod.spec.securityContext.appArmorProfile
    profiles = [
        (container.securityContext or SecurityContext()).appArmorProfile or whole for container in all_containers(pod)
    ]
    return any(profile is not None and profile.type != "Unconfined" for profile in profiles)


def unprepared_claims(candidate: Candidate, node: NodeState) -> Refusal | None:
    """PodFeatureUnsupported, for a pod whose resource claims would not be prepared: it would start without its devices
    (KEP-4381)."""
    pod = candidate.pod
    if not has_claims(pod):
        return None
    if is_static(pod):
        return _unsupported("a static pod cannot have resource claims")
    if not node.claims:
        return _unsupported("dynamic resource allocation is not supported on this node")
    if not node.extended_claims and is_extended(pod):
        return _unsupported("extended resources by dynamic resource allocation are not supported on this node")
    return None


def _unsupported(why: str) -> Refusal:
    return Refusal("PodFeatureUnsupported", f"spec.resourceClaims: {why}")
