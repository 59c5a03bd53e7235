"""The pods that are measured: manifests for the agent, the same as CRI configs for the floor."""

from __future__ import annotations

import uuid
from typing import Final

from actors.container_runtime.images import BUSYBOX_IMAGE
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
    """As the agent makes it, but for its files: it has no log directory."""
    config = sandbox_config()
    config.linux.cgroup_parent = cgroup_parent
    return config


def bare_container(sandbox: cri.PodSandboxConfig, hosts: str) -> cri.ContainerConfig:
    """With the two files that every container is given, and limits. `hosts`: some file of the host."""
    config = container_config(sandbox, ("sh", "-c", SCRIPT))
    config.log_path = ""
    config.mounts.add(container_path="/etc/hosts", host_path=hosts)
    config.mounts.add(container_path="/dev/termination-log", host_path=hosts)
    config.linux.resources.CopyFrom(
        cri.LinuxContainerResources(
            cpu_period=100_000, cpu_quota=20_000, cpu_shares=5, memory_limit_in_bytes=64 << 20, oom_score_adj=999
        )
    )
    return config
