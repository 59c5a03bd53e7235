"""What the fake's sandboxes and containers look like in lists and statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proto import cri_pb2 as cri

from .world import Container, Sandbox

NANO_CORES: Final = 10_000_000
WORKING_SET: Final = 4 * 1024 * 1024


def has_labels(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def listed_sandbox(sandbox: Sandbox) -> cri.PodSandbox:
    return cri.PodSandbox(
        id=sandbox.id,
        metadata=sandbox.config.metadata,
        state=cri.SANDBOX_READY if sandbox.ready else cri.SANDBOX_NOTREADY,
        created_at=sandbox.created_ns,
        labels=sandbox.config.labels,
        annotations=sandbox.config.annotations,
        runtime_handler=sandbox.runtime_handler,
    )


def sandbox_status(sandbox: Sandbox) -> cri.PodSandboxStatus:
    options = sandbox.config.linux.security_context.namespace_options
    more = [cri.PodIP(ip=ip) for ip in sandbox.more_ips]
    return cri.PodSandboxStatus(
        id=sandbox.id,
        metadata=sandbox.config.metadata,
        state=cri.SANDBOX_READY if sandbox.ready else cri.SANDBOX_NOTREADY,
        created_at=sandbox.created_ns,
        network=cri.PodSandboxNetworkStatus(ip=sandbox.ip, additional_ips=more),
        linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=options)),
        labels=sandbox.config.labels,
        annotations=sandbox.config.annotations,
        runtime_handler=sandbox.runtime_handler,
    )


def listed_container(container: Container) -> cri.Container:
    return cri.Container(
        id=container.id,
        pod_sandbox_id=container.sandbox_id,
        metadata=container.config.metadata,
        image=container.config.image,
        image_ref=container.image_ref,
        state=container.state,
        created_at=container.created_ns,
        labels=container.config.labels,
        annotations=container.config.annotations,
    )


def container_status(container: Container) -> cri.ContainerStatus:
    return cri.ContainerStatus(
        id=container.id,
        metadata=container.config.metadata,
        state=container.state,
        created_at=container.created_ns,
        started_at=container.started_ns,
        finished_at=container.finished_ns,
        exit_code=container.exit_code,
        image=cri.ImageSpec(image=container.image_name),
        image_ref=container.image_ref,
        reason=container.reason,
        message=container.message,
        labels=container.config.labels,
        annotations=container.config.annotations,
        mounts=container.config.mounts,
        log_path=container.log_path,
        resources=cri.ContainerResources(linux=container.resources),
        stop_signal=container.config.stop_signal or cri.SIGNAL_SIGTERM,
    )


def container_stats(container: Container, now_ns: int) -> cri.ContainerStats:
    """A steady use of CPU and memory since the start."""
    used = (now_ns - container.started_ns) * NANO_CORES // 1_000_000_000
    return cri.ContainerStats(
        attributes=cri.ContainerAttributes(
            id=container.id,
            metadata=container.config.metadata,
            labels=container.config.labels,
            annotations=container.config.annotations,
        ),
        cpu=cri.CpuUsage(timestamp=now_ns, usage_core_nano_seconds=cri.UInt64Value(value=used)),
        memory=cri.MemoryUsage(
            timestamp=now_ns,
            working_set_bytes=cri.UInt64Value(value=WORKING_SET),
            usage_bytes=cri.UInt64Value(value=WORKING_SET),
        ),
    )


def sandbox_stats(sandbox: Sandbox, containers: list[Container], now_ns: int) -> cri.PodSandboxStats:
    stats = [container_stats(one, now_ns) for one in containers if one.state == cri.CONTAINER_RUNNING]
    total = cri.UInt64Value(value=sum(one.cpu.usage_core_nano_seconds.value for one in stats))
    return cri.PodSandboxStats(
        attributes=cri.PodSandboxAttributes(
            id=sandbox.id,
            metadata=sandbox.config.metadata,
            labels=sandbox.config.labels,
            annotations=sandbox.config.annotations,
        ),
        linux=cri.LinuxPodSandboxStats(
            cpu=cri.CpuUsage(timestamp=now_ns, usage_core_nano_seconds=total),
            memory=cri.MemoryUsage(timestamp=now_ns, working_set_bytes=cri.UInt64Value(value=WORKING_SET * len(stats))),
            process=cri.ProcessUsage(timestamp=now_ns, process_count=cri.UInt64Value(value=1 + len(stats))),
            containers=stats,
        ),
    )
