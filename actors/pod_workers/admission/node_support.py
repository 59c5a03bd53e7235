"""What a pod asks for and this node may not support: it is refused rather than ignored in silence. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.kube.container import SecurityContext
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers

APPARMOR_FILE = "/sys/module/apparmor/parameters/enabled"


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """What node and runtime support."""

    apparmor: bool = False
    strict_groups: bool = False
    """The runtime supports supplementalGroupsPolicy."""


def unsupported(pod: Pod, support: Support) -> tuple[str, str]:
    """Reason and message of the refusal, as the reference words them; ('', '') when all is supported."""
    if not support.apparmor and wants_apparmor(pod):
        return "AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"
    if not support.strict_groups and pod.spec.securityContext.supplementalGroupsPolicy == "Strict":
        return "SupplementalGroupsPolicyNotSupported", 'the runtime does not support supplementalGroupsPolicy "Strict"'
    return "", ""


def wants_apparmor(pod: Pod) -> bool:
    """Whether any container asks for an AppArmor profile."""
    whole = pod.spec.securityContext.appArmorProfile
    profiles = [
        (container.securityContext or SecurityContext()).appArmorProfile or whole for container in all_containers(pod)
    ]
    return any(profile is not None and profile.type != "Unconfined" for profile in profiles)


def unsupported_by_agent(pod: Pod) -> str:
    """What this agent does not support yet, and must not ignore in silence; '' for nothing."""
    if pod.spec.hostUsers is False:
        return "hostUsers: false: user namespaces are not supported yet"
    for container in all_containers(pod):
        if container.volumeDevices:
            return f"container {container.name}: block volumes (volumeDevices) are not supported yet"
    return ""


def read_apparmor(path: str = APPARMOR_FILE) -> bool:
    """Whether AppArmor is enabled in the kernel."""
    try:
        with open(path) as file:
            return file.read(1) == "Y"
    except OSError:
        return False
