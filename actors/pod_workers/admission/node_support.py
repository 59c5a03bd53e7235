"""What a pod asks for that this node may not be able to give. What would be ignored in silence is refused. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.kube.container import SecurityContext
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers

APPARMOR_FILE = "/sys/module/apparmor/parameters/enabled"


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """What node and runtime can do."""

    apparmor: bool = False
    strict_groups: bool = False
    """The runtime heeds supplementalGroupsPolicy."""


def unsupported(pod: Pod, support: Support) -> tuple[str, str]:
    """Reason and message of the refusal, as the reference words them; ('', '') when there is none."""
    if not support.apparmor and wants_apparmor(pod):
        return "AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"
    if not support.strict_groups and pod.spec.securityContext.supplementalGroupsPolicy == "Strict":
        return "SupplementalGroupsPolicyNotSupported", 'the runtime does not support supplementalGroupsPolicy "Strict"'
    return "", ""


def wants_apparmor(pod: Pod) -> bool:
    """Whether any container is to be confined by it."""
    whole = pod.spec.securityContext.appArmorProfile
    profiles = [
        (container.securityContext or SecurityContext()).appArmorProfile or whole for container in all_containers(pod)
    ]
    return any(profile is not None and profile.type != "Unconfined" for profile in profiles)


def beyond_us(pod: Pod) -> str:
    """What this agent cannot do yet and must not leave out in silence; '' for nothing."""
    if pod.spec.hostUsers is False:
        return "hostUsers: false: user namespaces are not supported yet"
    for container in all_containers(pod):
        if container.volumeDevices:
            return f"container {container.name}: block volumes (volumeDevices) are not supported yet"
    return ""


def read_apparmor(path: str = APPARMOR_FILE) -> bool:
    """Whether the kernel has it switched on."""
    try:
        with open(path) as file:
            return file.read(1) == "Y"
    except OSError:
        return False
