"""CRI configs of small test pods."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from pathlib import Path

from proto import cri_pb2 as cri

BUSYBOX = "docker.io/library/busybox:latest"
TRAP = ("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done")
"""Runs until it is told to end, and then does."""

OWN_PIDS = cri.NamespaceOption(pid=cri.CONTAINER)
"""As for most pods: the first process of each container is its pid 1, which ignores SIGTERM unless it handles it."""

_numbers = itertools.count()


def sandbox_config(cgroup_root: str = "", log_root: Path | None = None, **changes: object) -> cri.PodSandboxConfig:
    """A pod of its own. Its cgroup is made in `cgroup_root`; `changes` are fields of the metadata."""
    uid = str(uuid.uuid4())
    fields: dict[str, object] = {"uid": uid, "name": f"pod-{next(_numbers)}", "namespace": "default", **changes}
    metadata = cri.PodSandboxMetadata(**fields)  # type: ignore[arg-type]
    logs = log_root / metadata.uid if log_root is not None else None
    if logs is not None:
        logs.mkdir(exist_ok=True)
    linux = cri.LinuxPodSandboxConfig(
        cgroup_parent=f"{cgroup_root}/pod{metadata.uid}" if cgroup_root else "",
        security_context=cri.LinuxSandboxSecurityContext(namespace_options=OWN_PIDS),
    )
    return cri.PodSandboxConfig(
        metadata=metadata,
        hostname=metadata.name,
        log_directory=str(logs or ""),
        labels={
            "io.kubernetes.pod.uid": metadata.uid,
            "io.kubernetes.pod.name": metadata.name,
            "io.kubernetes.pod.namespace": metadata.namespace,
        },
        linux=linux,
    )


def container_config(
    sandbox: cri.PodSandboxConfig, command: Sequence[str] = TRAP, name: str = "main", attempt: int = 0
) -> cri.ContainerConfig:
    """A busybox container of that pod."""
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=name, attempt=attempt),
        image=cri.ImageSpec(image=BUSYBOX, user_specified_image="busybox"),
        command=command,
        log_path=f"{name}-{attempt}.log",
        labels={**sandbox.labels, "io.kubernetes.container.name": name},
        annotations={"io.kubernetes.container.hash": "1a2b", "io.kubernetes.container.restartCount": str(attempt)},
        linux=cri.LinuxContainerConfig(
            resources=cri.LinuxContainerResources(cpu_period=100_000, cpu_quota=50_000, cpu_shares=512),
            security_context=cri.LinuxContainerSecurityContext(namespace_options=OWN_PIDS),
        ),
    )
