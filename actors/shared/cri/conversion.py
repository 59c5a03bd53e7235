"""Converts the runtime's answers to the values of model.py. Pure."""

from __future__ import annotations

import posixpath

import msgspec

from actors.shared.kube.names import (
    CONTAINER_NAME_LABEL,
    CONTAINER_TERMINATION_MESSAGE_PATH,
    POD_NAME_LABEL,
    POD_NAMESPACE_LABEL,
    POD_UID_LABEL,
)
from proto import cri_pb2 as cri
from supervision.errors import UNREADABLE

from .checked_answers import attempt_of, id_of, part
from .model import (
    ContainerEvent,
    CriContainer,
    CriContainerState,
    CriResources,
    CriUser,
    EventKind,
    Image,
    RuntimeHandler,
    RuntimeStatus,
    Sandbox,
)

_STATES = {
    cri.CONTAINER_CREATED: CriContainerState.CREATED,
    cri.CONTAINER_RUNNING: CriContainerState.RUNNING,
    cri.CONTAINER_EXITED: CriContainerState.EXITED,
}
_EVENTS = {
    cri.CONTAINER_CREATED_EVENT: EventKind.CREATED,
    cri.CONTAINER_STARTED_EVENT: EventKind.STARTED,
    cri.CONTAINER_STOPPED_EVENT: EventKind.STOPPED,
    cri.CONTAINER_DELETED_EVENT: EventKind.DELETED,
}


def listed_sandbox(sandbox: cri.PodSandbox) -> Sandbox:
    """From a list: without addresses and network mode."""
    return Sandbox(
        id=id_of(sandbox.id),
        pod_uid=part(sandbox.metadata.uid),
        pod_name=part(sandbox.metadata.name),
        pod_namespace=part(sandbox.metadata.namespace),
        attempt=attempt_of(sandbox.metadata.attempt),
        ready=sandbox.state == cri.SANDBOX_READY,
        created_ns=_time(sandbox.created_at),
        runtime_handler=sandbox.runtime_handler,
        labels=dict(sandbox.labels),
        annotations=dict(sandbox.annotations),
    )


def sandbox_of(status: cri.PodSandboxStatus) -> Sandbox:
    """From a status or an event."""
    addresses = [status.network.ip, *(other.ip for other in status.network.additional_ips)]
    return Sandbox(
        id=id_of(status.id),
        pod_uid=part(status.metadata.uid),
        pod_name=part(status.metadata.name),
        pod_namespace=part(status.metadata.namespace),
        attempt=attempt_of(status.metadata.attempt),
        ready=status.state == cri.SANDBOX_READY,
        created_ns=_time(status.created_at),
        ips=[address for address in addresses if address],
        host_network=status.linux.namespaces.options.network == cri.NODE,
        runtime_handler=status.runtime_handler,
        labels=dict(status.labels),
        annotations=dict(status.annotations),
    )


class _SandboxInfo(msgspec.Struct, frozen=True):
    image: str = ""


def sandbox_image(info: str) -> str:
    """The image of a sandbox. `info`: of its verbose status, as containerd and CRI-O have it, JSON; '': it has none."""
    try:
        return msgspec.json.decode(info, type=_SandboxInfo).image
    except UNREADABLE:
        return ""


def container_state(number: int) -> CriContainerState:
    """UNKNOWN also for the numbers of later versions of CRI."""
    return _STATES.get(number, CriContainerState.UNKNOWN)  # type: ignore[call-overload, no-any-return]


def _time(nanoseconds: int) -> int:
    """0 for never. CRI-O reports never as Go's zero time in nanoseconds, a large negative number."""
    return max(0, nanoseconds)


def _image_name(spec: cri.ImageSpec) -> str:
    return spec.user_specified_image or spec.image


def listed_container(container: cri.Container) -> CriContainer:
    """From a list: without times but creation, exit, reason, message, log path."""
    labels = dict(container.labels)
    return CriContainer(
        id=id_of(container.id),
        name=part(container.metadata.name or labels.get(CONTAINER_NAME_LABEL, "")),
        pod_uid=part(labels.get(POD_UID_LABEL, "")),
        pod_name=part(labels.get(POD_NAME_LABEL, "")),
        pod_namespace=part(labels.get(POD_NAMESPACE_LABEL, "")),
        sandbox_id=container.pod_sandbox_id,
        attempt=attempt_of(container.metadata.attempt),
        state=container_state(container.state),
        image=_image_name(container.image),
        image_ref=container.image_ref,
        image_id=container.image_id,
        created_ns=_time(container.created_at),
        labels=labels,
        annotations=dict(container.annotations),
    )


def container_of(status: cri.ContainerStatus, sandbox_id: str = "") -> CriContainer:
    """From a status or an event. They do not include the sandbox: `sandbox_id` is its ID, if known."""
    labels = dict(status.labels)
    return CriContainer(
        id=id_of(status.id),
        name=part(status.metadata.name or labels.get(CONTAINER_NAME_LABEL, "")),
        pod_uid=part(labels.get(POD_UID_LABEL, "")),
        pod_name=part(labels.get(POD_NAME_LABEL, "")),
        pod_namespace=part(labels.get(POD_NAMESPACE_LABEL, "")),
        sandbox_id=sandbox_id,
        attempt=attempt_of(status.metadata.attempt),
        state=container_state(status.state),
        image=_image_name(status.image),
        resolved_image=status.image.image,
        image_ref=status.image_ref,
        image_id=status.image_id,
        created_ns=_time(status.created_at),
        started_ns=_time(status.started_at),
        finished_ns=_time(status.finished_at),
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        log_path=status.log_path,
        labels=labels,
        annotations=dict(status.annotations),
        resources=_resources(status),
        user=_user(status),
        stop_signal=_stop_signal(status.stop_signal),
        recursive_read_only=[mount.container_path for mount in status.mounts if mount.recursive_read_only],
        mounted_images=[mount.image.image for mount in status.mounts if mount.image.image],
        message_file=_message_file(status),
    )


def _message_file(status: cri.ContainerStatus) -> str:
    path = status.annotations.get(CONTAINER_TERMINATION_MESSAGE_PATH, "")
    where = posixpath.join("/", path) if path else ""
    return next((mount.host_path for mount in status.mounts if where and mount.container_path == where), "")


def _stop_signal(signal: int) -> str:
    """The API's name of the signal; '' if it is not reported or unknown."""
    if signal == cri.SIGNAL_RUNTIME_DEFAULT or signal not in cri.Signal.values():
        return ""
    return (
        cri.Signal.Name(cri.Signal.ValueType(signal)).removeprefix("SIGNAL_").replace("PLUS", "+").replace("MINUS", "-")
    )


def _resources(status: cri.ContainerStatus) -> CriResources | None:
    if not status.resources.HasField("linux"):
        return None
    linux = status.resources.linux
    return CriResources(
        cpu_shares=linux.cpu_shares,
        cpu_quota=linux.cpu_quota,
        cpu_period=linux.cpu_period,
        memory_limit_bytes=linux.memory_limit_in_bytes,
    )


def _user(status: cri.ContainerStatus) -> CriUser | None:
    if not status.user.HasField("linux"):
        return None
    linux = status.user.linux
    return CriUser(uid=linux.uid, gid=linux.gid, supplemental_groups=list(linux.supplemental_groups))


def runtime_status(response: cri.StatusResponse) -> RuntimeStatus:
    """A condition that the runtime does not report is not met."""
    conditions = {condition.type: condition for condition in response.status.conditions}
    problems = {}
    for kind in ("RuntimeReady", "NetworkReady"):
        condition = conditions.get(kind)
        if condition is None:
            problems[kind] = f"the runtime does not report {kind}"
        elif not condition.status:
            problems[kind] = f"{kind}=false reason:{condition.reason} message:{condition.message}"
    return RuntimeStatus(
        runtime_ready="RuntimeReady" in conditions and conditions["RuntimeReady"].status,
        network_ready="NetworkReady" in conditions and conditions["NetworkReady"].status,
        message=", ".join(problems.values()),
        runtime_message=problems.get("RuntimeReady", ""),
        network_message=problems.get("NetworkReady", ""),
        handlers=[
            RuntimeHandler(
                name=handler.name,
                recursive_read_only_mounts=handler.features.recursive_read_only_mounts,
                user_namespaces=handler.features.user_namespaces,
            )
            for handler in response.runtime_handlers
        ],
        supplemental_groups_policy=response.features.supplemental_groups_policy,
    )


def image_of(image: cri.Image) -> Image:
    return Image(
        id=image.id,
        tags=list(image.repo_tags),
        digests=list(image.repo_digests),
        size_bytes=image.size,
        uid=image.uid.value if image.HasField("uid") else None,
        username=image.username,
        pinned=image.pinned,
        runtime_handler=image.spec.runtime_handler,
    )


def event_of(event: cri.ContainerEventResponse) -> ContainerEvent:
    """UNKNOWN also for the kinds of later versions of CRI. The statuses of the pod's containers, which runtimes send
    with each event, are dropped: the receiver queries the pod."""
    sandbox = event.pod_sandbox_status
    return ContainerEvent(
        container_id=event.container_id,
        kind=_EVENTS.get(event.container_event_type, EventKind.UNKNOWN),
        created_ns=_time(event.created_at),
        pod_uid=part(sandbox.metadata.uid or sandbox.labels.get(POD_UID_LABEL, "")),
    )
