"""The ContainerConfig of CRI. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec

from actors.pod_workers.errors import ConfigError
from actors.pod_workers.phases.actions import Start
from actors.shared.hardware.allocation import NOTHING, ContainerAllocation
from actors.shared.kube import names as known
from actors.shared.kube.codec import encode
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import grace_period
from actors.shared.kube.variable_expansion import expand_all
from actors.shared.pacing import pieces
from proto import cri_pb2 as cri

from . import allocation
from .names import log_path
from .resources import NO_QUOTA, LinuxContainerResources
from .sandbox_config import identity
from .spec_hash import container_hash

_ANY_BYTES = "surrogateescape"
_AT_ONCE = 2000
"""Variables; some 7 ms."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a container is created from."""

    image_ref: str
    environment: dict[str, str]
    """Bytes of a secret that are not UTF-8 are escaped (PEP 383)."""
    mounts: list[cri.Mount]
    limits: LinuxContainerResources
    security: cri.LinuxContainerSecurityContext
    volume_devices: list[cri.Device] = []
    hardware: ContainerAllocation = NOTHING
    """From the managers of CPUs, memory and devices."""
    unified: dict[str, str] = {}
    """cgroup v2: value by file, written by the runtime."""
    memory_swap_bytes: int = 0
    """cgroup v1: memory and swap together; 0 is not set."""
    stop_signals: bool = False
    """Gate ContainerStopSignals."""


async def container_config(pod: Pod, start: Start, parts: Parts) -> cri.ContainerConfig:
    """ContainerConfig. Later incarnations and the Go kubelet recognise the container by its labels and annotations."""
    container, restart_count, hardware = start.container, start.restart_count, parts.hardware
    words = _words([*container.command, *container.args], parts.environment)
    config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=container.name, attempt=restart_count),
        image=cri.ImageSpec(image=parts.image_ref, user_specified_image=container.image),
        command=expand_all(container.command, words),
        args=expand_all(container.args, words),
        working_dir=container.workingDir,
        mounts=[*device_mounts(hardware), *parts.mounts],
        devices=[*device_nodes(hardware), *parts.volume_devices],
        CDI_devices=[cri.CDIDevice(name=name) for name in hardware.cdi_devices],
        labels={**identity(pod), known.CONTAINER_NAME_LABEL: container.name},
        annotations={**hardware.annotations, **container_annotations(pod, start)},
        log_path=log_path(container.name, restart_count),
        stdin=container.stdin,
        stdin_once=container.stdinOnce,
        tty=container.tty,
    )
    if parts.stop_signals and container.lifecycle is not None and container.lifecycle.stopSignal:
        config.stop_signal = stop_signal(container.lifecycle.stopSignal)
    config.linux.security_context.CopyFrom(parts.security)
    async for variables in pieces({**hardware.environment, **parts.environment}.items(), _AT_ONCE):
        config.envs.extend(cri.KeyValue(key=key, value=value.encode(errors=_ANY_BYTES)) for key, value in variables)
    resources = linux_resources(parts.limits, parts.unified, parts.memory_swap_bytes, hardware)
    resources.cpuset_cpus, resources.cpuset_mems = hardware.cpuset_cpus, hardware.cpuset_mems
    config.linux.resources.CopyFrom(resources)
    return config


def _words(texts: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The values of the references in these texts; usually there are none."""
    if not any("$(" in text for text in texts):
        return {}
    return {name: value.encode(errors=_ANY_BYTES).decode(errors="replace") for name, value in environment.items()}


def device_nodes(hardware: ContainerAllocation) -> list[cri.Device]:
    return [
        cri.Device(host_path=one.host_path, container_path=one.container_path, permissions=one.permissions)
        for one in hardware.devices
    ]


def device_mounts(hardware: ContainerAllocation) -> list[cri.Mount]:
    """The mounts of devices, which precede the mounts of the container's volumes."""
    return [
        cri.Mount(host_path=one.host_path, container_path=one.container_path, readonly=one.read_only)
        for one in hardware.mounts
    ]


def linux_resources(
    limits: LinuxContainerResources, unified: dict[str, str], memory_swap_bytes: int, hardware: ContainerAllocation
) -> cri.LinuxContainerResources:
    """LinuxContainerResources, to create a container or to resize one. Exclusive CPUs have no quota."""
    return cri.LinuxContainerResources(
        cpu_shares=limits.cpu_shares,
        cpu_quota=NO_QUOTA if hardware.exclusive_cpus else limits.cpu_quota,
        cpu_period=limits.cpu_period,
        memory_limit_in_bytes=limits.memory_bytes,
        memory_swap_limit_in_bytes=memory_swap_bytes,
        oom_score_adj=limits.oom_score_adj,
        unified=unified,
        hugepage_limits=[cri.HugepageLimit(page_size=size, limit=most) for size, most in limits.huge_pages.items()],
    )


def container_annotations(pod: Pod, start: Start) -> dict[str, str]:
    """Annotations. With them a container can be stopped as its pod specifies even when no source has the pod any
    more."""
    container = start.container
    found = {
        known.CONTAINER_HASH: container_hash(container),
        known.CONTAINER_RESTART_COUNT: str(start.restart_count),
        known.CONTAINER_RESTARTS_IN_A_ROW: str(start.consecutive_restarts),
        known.CONTAINER_TERMINATION_MESSAGE_PATH: container.terminationMessagePath,
        known.CONTAINER_TERMINATION_MESSAGE_POLICY: container.terminationMessagePolicy,
        known.POD_TERMINATION_GRACE_PERIOD: str(grace_period(pod)),
    }
    if allocation.of(pod):
        found[known.CONTAINER_RESOURCES] = encode(msgspec.structs.replace(container.resources, claims=[])).decode()
    if pod.metadata.deletionGracePeriodSeconds is not None:
        found[known.POD_DELETION_GRACE_PERIOD] = str(pod.metadata.deletionGracePeriodSeconds)
    if container.lifecycle is not None and container.lifecycle.preStop is not None:
        found[known.CONTAINER_PRE_STOP_HANDLER] = encode(container.lifecycle.preStop).decode()
    if container.ports:
        ports = [
            {key: value for key, value in msgspec.structs.asdict(port).items() if value} for port in container.ports
        ]
        found[known.CONTAINER_PORTS] = json.dumps(ports, separators=(",", ":"))
    return found


def stop_signal(name: str) -> cri.Signal.ValueType:
    """The signal of this name (SIGUSR1). Raises ConfigError."""
    try:
        return cri.Signal.Value("SIGNAL_" + name.replace("+", "PLUS").replace("-", "MINUS"))
    except ValueError:
        raise ConfigError(f"unknown stopSignal: {name}") from None
