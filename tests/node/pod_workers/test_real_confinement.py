"""Confinement and identity of real processes: profiles of the node, groups, masked paths, kernel settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.pod_workers.test_real_pods import PodNode, container
from tests.support.runtime import RealRuntime


@pytest.fixture(scope="module")
def node(session_runtime: RealRuntime) -> Iterator[PodNode]:
    with PodNode(session_runtime, "confinement").serving() as agent:
        yield agent


def test_a_seccomp_profile_of_the_node_is_applied(node: PodNode) -> None:
    folder = Path(node.home, "root", "seccomp", "profiles")
    folder.mkdir(parents=True, exist_ok=True)
    rule = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}
    (folder / "no-mkdir.json").write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [rule]}))
    profile = {"seccompProfile": {"type": "Localhost", "localhostProfile": "profiles/no-mkdir.json"}}
    script = "mkdir /tmp/a && echo made || echo refused; touch /tmp/b && echo touched"
    node.run("profiled", container("main", script, securityContext=profile), restartPolicy="Never")
    node.wait_phase("profiled", "Succeeded")
    said = node.log_of("profiled")
    assert "refused" in said
    assert "touched" in said
    node.end("profiled")


def test_processes_have_the_groups_of_the_pod_and_so_do_its_volumes(node: PodNode) -> None:
    script = "id -G; touch /data/f; stat -c '%g' /data/f"
    mounted = container("main", script, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    context = {"runAsUser": 1000, "runAsGroup": 1001, "supplementalGroups": [4321], "fsGroup": 3456}
    node.run("grouped", mounted, restartPolicy="Never", securityContext=context,
             volumes=[{"name": "data", "emptyDir": {}}])  # fmt: skip
    node.wait_phase("grouped", "Succeeded")
    groups, owner = node.log_of("grouped")
    assert {"1001", "4321", "3456"} <= set(groups.split())
    assert owner == "3456"
    node.end("grouped")


def test_masked_kernel_files_are_visible_to_privileged_containers_only(node: PodNode) -> None:
    script = "wc -c < /proc/timer_list; (echo 1 > /proc/sys/kernel/domainname) 2>/dev/null && echo wrote; true"
    node.run("masked", container("main", script), restartPolicy="Never")
    node.wait_phase("masked", "Succeeded")
    assert node.log_of("masked") == ["0"]
    node.end("masked")


def test_a_safe_sysctl_is_set_and_another_is_refused(node: PodNode) -> None:
    name = "net.ipv4.ip_local_port_range"
    script = f"cat /proc/sys/{name.replace('.', '/')}"
    node.run("tuned", container("main", script), restartPolicy="Never",
             securityContext={"sysctls": [{"name": name, "value": "20000 30000"}]})  # fmt: skip
    node.wait_phase("tuned", "Succeeded")
    assert node.log_of("tuned")[0].split() == ["20000", "30000"]
    node.run("greedy", restartPolicy="Never", securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]})
    refused = node.wait_phase("greedy", "Failed")
    assert refused["reason"] == "SysctlForbidden"
    node.end("tuned", "greedy")
