"""Whether node and runtime support what a pod asks for: operating system, supplementalGroupsPolicy, AppArmor,
resource claims, and features behind gates. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.kube.container import SecurityContext
from actors.shared.kube.declared_features import needed_features
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers, is_static
from actors.shared.kube.resource_claims import has_claims, is_extended

from .request import NodeState, PodAdmitAttributes, Refusal

OS_LABEL: Final = "kubernetes.io/os"
OS: Final = "linux"


def other_os(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodOSSelectorNodeLabelDoesNotMatch or PodOSNotSupported: by the pod's label, then by its field."""
    pod = candidate.pod
    if pod.metadata.labels.get(OS_LABEL, OS) != OS:
        text = f"Failed to admit pod as the `{OS_LABEL}` label doesn't match node label"
        return Refusal("PodOSSelectorNodeLabelDoesNotMatch", text)
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None


def unsupported_groups_policy(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """SupplementalGroupsPolicyNotSupported."""
    if node.strict_groups or not wants_strict_groups(candidate.pod):
        return None
    text = "SupplementalGroupsPolicy=Strict is not supported in this node"
    return Refusal("SupplementalGroupsPolicyNotSupported", text)


def unavailable_apparmor(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """AppArmor, if a container's profile cannot be enforced. A pod that has run here is not asked again."""
    if node.apparmor or candidate.pod.status.phase not in ("", "Pending") or not wants_apparmor(candidate.pod):
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


def unprepared_claims(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
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


def pod_level_resources(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodLevelResourcesNotSupported, where the gate is off."""
    given = candidate.pod.spec.resources
    if node.pod_level or given is None or not (given.requests or given.limits):
        return None
    return Refusal("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")


def undeclared_features(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """PodFeatureUnsupported, for a pod that needs features that this node does not declare (KEP-5328)."""
    if node.features is None:
        return None
    missing = [name for name in needed_features(candidate.pod) if name not in node.features]
    text = f"Pod requires node features that are not available: {', '.join(missing)}"
    return Refusal("PodFeatureUnsupported", text) if missing else None


def _unsupported(why: str) -> Refusal:
    return Refusal("PodFeatureUnsupported", f"spec.resourceClaims: {why}")
