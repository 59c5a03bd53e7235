"""Security contexts for the runtime. Pure. Unknown or missing values fail closed (CVE-2023-2431, CVE-2019-11245)."""

from __future__ import annotations

import posixpath
from typing import Any, Final

import msgspec

from actors.pod_workers.errors import ConfigError
from actors.shared.kube.apparmor import profile_of
from actors.shared.kube.container import Container, SeccompProfile, SecurityContext
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers
from proto import cri_pb2 as cri

from .names import label

MASKED_PATHS: Final = (
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
MAX_ID: Final = (1 << 31) - 1
READONLY_PATHS: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def namespaces(pod: Pod) -> cri.NamespaceOption:
    """The namespaces that are shared with the node, or by the containers of the pod."""
    spec = pod.spec
    together = cri.POD if spec.shareProcessNamespace else cri.CONTAINER
    return cri.NamespaceOption(
        network=cri.NODE if spec.hostNetwork else cri.POD,
        pid=cri.NODE if spec.hostPID else together,
        ipc=cri.NODE if spec.hostIPC else cri.POD,
    )


def sandbox_context(pod: Pod) -> cri.LinuxSandboxSecurityContext:
    """The context of the sandbox; its own process is always confined by the runtime's default seccomp profile."""
    whole = pod.spec.securityContext
    context = cri.LinuxSandboxSecurityContext(
        namespace_options=namespaces(pod),
        privileged=any(map(privileged, all_containers(pod))),
        seccomp=cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault),
        supplemental_groups=supplemental_groups(pod),
        supplemental_groups_policy=groups_policy(pod),
    )
    if whole.runAsUser is not None:
        context.run_as_user.value = whole.runAsUser
    if whole.runAsGroup is not None and whole.runAsUser is not None:  # a group alone is refused by containerd
        context.run_as_group.value = whole.runAsGroup
    if whole.seLinuxOptions is not None:
        context.selinux_options.CopyFrom(_selinux(whole.seLinuxOptions))
    return context


def container_context(
    pod: Pod, container: Container, image_user: tuple[int | None, str], *, seccomp_default: bool, seccomp_dir: str
) -> cri.LinuxContainerSecurityContext:
    """The context of one container; its own values override the pod's. `image_user`: (uid, name) from the image.

    Raises ConfigError.
    """
    own, whole = container.securityContext or SecurityContext(), pod.spec.securityContext
    user = own.runAsUser if own.runAsUser is not None else whole.runAsUser
    group = own.runAsGroup if own.runAsGroup is not None else whole.runAsGroup
    non_root = own.runAsNonRoot if own.runAsNonRoot is not None else whole.runAsNonRoot
    if non_root:
        refuse_root(user, image_user, f'(pod: "{label(pod)}", container: {container.name})')
    context = cri.LinuxContainerSecurityContext(
        privileged=privileged(container),
        namespace_options=namespaces(pod),
        readonly_rootfs=bool(own.readOnlyRootFilesystem),
        no_new_privs=own.allowPrivilegeEscalation is False,
        supplemental_groups=supplemental_groups(pod),
        supplemental_groups_policy=groups_policy(pod),
        seccomp=seccomp(own.seccompProfile or whole.seccompProfile, default=seccomp_default, directory=seccomp_dir),
    )
    _set_user(context, user, image_user)
    if group is not None:
        context.run_as_group.value = group
    if own.capabilities is not None:
        context.capabilities.add_capabilities.extend(own.capabilities.add)
        context.capabilities.drop_capabilities.extend(own.capabilities.drop)
    selinux = own.seLinuxOptions or whole.seLinuxOptions
    if selinux is not None:
        context.selinux_options.CopyFrom(_selinux(selinux))
    profile = profile_of(pod, container)
    if profile is not None:
        context.apparmor.CopyFrom(apparmor(profile))
        context.apparmor_profile = _apparmor_annotation(profile)
    if not _is_unmasked(own):
        context.masked_paths.extend(MASKED_PATHS)
        context.readonly_paths.extend(READONLY_PATHS)
    return context


def refuse_root(user: int | None, image_user: tuple[int | None, str], where: str) -> None:
    """runAsNonRoot: refuse a user that may be root. Raises ConfigError."""
    if user == 0:
        raise ConfigError(f"container's runAsUser breaks non-root policy {where}")
    if user is not None:
        return
    uid, name = image_user
    if uid == 0 or (uid is None and not name):
        raise ConfigError(f"container has runAsNonRoot and image will run as root {where}")
    if uid is None:
        text = f"container has runAsNonRoot and image has non-numeric user ({name}), cannot verify user is non-root"
        raise ConfigError(f"{text} {where}")
    if not 0 < uid <= MAX_ID:
        rule = f"(Must be 1-({MAX_ID})): must be between 0 and {MAX_ID}, inclusive"
        raise ConfigError(f"container has runAsNonRoot and image has an invalid user id ({uid}). {rule} {where}")


def privileged(container: Container) -> bool:
    return bool(container.securityContext and container.securityContext.privileged)


def with_groups(pod: Pod, groups: list[int]) -> Pod:
    """The pod with the supplemental groups that its volumes need, in addition to its own."""
    whole = pod.spec.securityContext
    more = [group for group in groups if group not in whole.supplementalGroups]
    if not more:
        return pod
    context = msgspec.structs.replace(whole, supplementalGroups=[*whole.supplementalGroups, *more])
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, securityContext=context))


def supplemental_groups(pod: Pod) -> list[int]:
    whole = pod.spec.securityContext
    groups = list(whole.supplementalGroups)
    return groups if whole.fsGroup is None else [whole.fsGroup, *groups]


def groups_policy(pod: Pod) -> Any:
    policy = pod.spec.securityContext.supplementalGroupsPolicy
    return cri.SupplementalGroupsPolicy.Strict if policy == "Strict" else cri.SupplementalGroupsPolicy.Merge


def seccomp(profile: SeccompProfile | None, *, default: bool, directory: str) -> cri.SecurityProfile:
    """Raises ConfigError for an invalid profile."""
    if profile is None:
        kind = cri.SecurityProfile.RuntimeDefault if default else cri.SecurityProfile.Unconfined
        return cri.SecurityProfile(profile_type=kind)
    name = profile.localhostProfile or ""
    if profile.type == "Localhost" and (not name or name.startswith("/") or ".." in name.split("/")):
        raise ConfigError(f"seccomp Localhost profile needs a relative path, not {name!r}")
    return _profile(profile, "seccomp", posixpath.join(directory, name))


def apparmor(profile: SeccompProfile) -> cri.SecurityProfile:
    """The kernel identifies an AppArmor profile by its name, which is often the path of a program. Raises ConfigError
    for an invalid profile."""
    if profile.type == "Localhost" and not (profile.localhostProfile or "").strip():
        raise ConfigError("AppArmor Localhost profile needs a name")
    return _profile(profile, "AppArmor", profile.localhostProfile or "")


def _apparmor_annotation(profile: SeccompProfile) -> str:
    """The profile in the older form of CRI, which old runtimes read."""
    words = {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}
    return words.get(profile.type) or f"localhost/{profile.localhostProfile}"


def _profile(profile: SeccompProfile, what: str, reference: str) -> cri.SecurityProfile:
    if profile.type == "RuntimeDefault":
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault)
    if profile.type == "Unconfined":
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined)
    if profile.type != "Localhost":
        raise ConfigError(f"unknown {what} profile type: {profile.type!r}")
    return cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=reference)


def _set_user(context: cri.LinuxContainerSecurityContext, user: int | None, image_user: tuple[int | None, str]) -> None:
    """The pod's user, else the image's; an image without one runs as root."""
    uid, username = image_user
    if user is None and uid is None and username:
        context.run_as_username = username
    else:
        context.run_as_user.value = user if user is not None else uid or 0


def _is_unmasked(own: SecurityContext) -> bool:
    if own.procMount not in (None, "", "Default", "Unmasked"):
        raise ConfigError(f"unknown procMount: {own.procMount!r}")
    return own.procMount == "Unmasked"


def _selinux(options: Any) -> cri.SELinuxOption:
    return cri.SELinuxOption(user=options.user, role=options.role, type=options.type, level=options.level)
