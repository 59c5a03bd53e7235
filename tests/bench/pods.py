"""The pods that are measured: manifests for the agent, the same as CRI configs for the floor."""

from __future__ import annotations

import uuid
from typing import Final

from actors.container_runtime.images import BUSYBOX_IMAGE
from actors.pod_workers.containers.security import MASKED_PATHS, READONLY_PATHS
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config

NAMESPACE: Final = "bench"
SCRIPT: Final = "trap 'exit 0' TERM; sleep 100000 & wait"
"""Idle until it is told to end, and then does at once."""
MANIFEST: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: {namespace}
  uid: {uid}
spec:
  terminationGracePeriodSeconds: 10
  automountServiceAccountToken: false
  containers:
  - name: main
    image: {image}
    imagePullPolicy: IfNotPresent
    command: [sh, -c, "{script}"]
    resources:
      requests: {{cpu: 5m, memory: 16Mi}}
      limits: {{cpu: 200m, memory: 64Mi}}
"""


def manifest(name: str) -> str:
    return MANIFEST.format(name=name, namespace=NAMESPACE, uid=uuid.uuid4(), image=BUSYBOX_IMAGE, script=SCRIPT)


def bare_sandbox(cgroup_parent: str) -> cri.PodSandboxConfig:
    """With what the agent's have that costs the runtime time: limits, and the default seccomp profile, which the
    reference agent forces on every sandbox as well (a quarter of the whole start is compiling it)."""
    config = sandbox_config()
    config.dns_config.servers.append("192.0.2.53")
    config.linux.cgroup_parent = cgroup_parent
    config.linux.security_context.seccomp.profile_type = cri.SecurityProfile.RuntimeDefault
    config.linux.resources.CopyFrom(_limits())
    return config


def bare_container(sandbox: cri.PodSandboxConfig, hosts: str) -> cri.ContainerConfig:
    """With the two files that every container is given, and limits. `hosts`: some file of the host."""
    config = container_config(sandbox, ("sh", "-c", SCRIPT))
    config.log_path = ""
    config.mounts.add(container_path="/etc/hosts", host_path=hosts)
    config.mounts.add(container_path="/dev/termination-log", host_path=hosts)
    config.linux.security_context.masked_paths.extend(MASKED_PATHS)
    config.linux.security_context.readonly_paths.extend(READONLY_PATHS)
    config.linux.resources.CopyFrom(_limits())
    config.linux.resources.oom_score_adj = 999
    return config


def _limits() -> cri.LinuxContainerResources:
    return cri.LinuxContainerResources(
        cpu_period=100_000, cpu_quota=20_000, cpu_shares=5, memory_limit_in_bytes=64 << 20
    )
