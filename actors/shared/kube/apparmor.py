"""The AppArmor profile of a container: its field, else the older annotation of the pod, else the pod's field. Pure.

The API server turns annotations into fields for the pods that it has; static pods may have the annotation alone.
"""

from __future__ import annotations

from typing import Final

from .container import Container, SeccompProfile, SecurityContext
from .pod import Pod
from .pods import all_containers

ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Followed by the container's name."""
UNCONFINED: Final = "Unconfined"
_LOCALHOST: Final = "localhost/"
_TYPES: Final = {"runtime/default": "RuntimeDefault", "unconfined": UNCONFINED}


def profile_of(pod: Pod, container: Container) -> SeccompProfile | None:
    """None: the runtime decides."""
    own = (container.securityContext or SecurityContext()).appArmorProfile
    return own or _annotated(pod, container.name) or pod.spec.securityContext.appArmorProfile


def asks_for_profile(pod: Pod) -> bool:
    """Whether the node must be able to enforce a profile for this pod."""
    whole = pod.spec.securityContext.appArmorProfile
    fields = [whole, *((one.securityContext or SecurityContext()).appArmorProfile for one in all_containers(pod))]
    if any(profile is not None and profile.type != UNCONFINED for profile in fields):
        return True
    values = (value for name, value in pod.metadata.annotations.items() if name.startswith(ANNOTATION))
    return any(_TYPES.get(value) != UNCONFINED for value in values)


def _annotated(pod: Pod, container: str) -> SeccompProfile | None:
    value = pod.metadata.annotations.get(f"{ANNOTATION}{container}", "")
    if value.startswith(_LOCALHOST):
        return SeccompProfile(type="Localhost", localhostProfile=value.removeprefix(_LOCALHOST))
    return SeccompProfile(type=_TYPES[value]) if value in _TYPES else None
