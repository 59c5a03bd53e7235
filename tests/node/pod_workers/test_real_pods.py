"""Pods of a real agent on a real containerd: what their containers see, and what becomes of them."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from actors.pod_workers.containers.machine import this_machine
from actors.shared.linux.cgroup_tree import find
from actors.status_manager.messages import GetPods, Pods
from tests.support.faulty_node import NODE_NAME, FaultyNode
from tests.support.runtime import RealRuntime

USUAL_GRACE_SECONDS = 30.0
"""Of a pod that says nothing of it."""
IDLE = "trap 'exit 0' TERM; sleep 100000 & wait"


class PodNode(FaultyNode):
    """Pods by name, and what the agent says of them."""

    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), "containerLogMaxSize": "16Ki", "containerLogMonitorInterval": "3s"}

    def run(self, name: str, *containers: dict[str, Any], **spec: Any) -> None:
        whole = {"terminationGracePeriodSeconds": 5, "containers": containers or [container("main")], **spec}
        metadata = {"name": name, "namespace": "test"}
        self.write(name, json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}))

    def pod(self, name: str) -> dict[str, Any]:
        """As /pods has it; {} for none."""
        client = self.client()
        try:
            answer = client.ask(GetPods(), Pods, name="status_manager", timeout=5.0)
        finally:
            client.close()
        items = msgspec.json.decode(answer.data)["items"] or []
        return next((one for one in items if one["metadata"]["name"] == f"{name}-{NODE_NAME}"), {})

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.pod(name).get("status", {})
        return found

    def wait_phase(self, name: str, phase: str) -> dict[str, Any]:
        self.until(lambda: self.status(name).get("phase") == phase, f"{name} {phase}")
        return self.status(name)

    def uid(self, name: str) -> str:
        return str(self.pod(name)["metadata"]["uid"])

    def log_of(self, name: str, container: str = "main", count: int = 0) -> list[str]:
        """The lines that the container wrote."""
        directory = self.home / "logs" / f"test_{name}-{NODE_NAME}_{self.uid(name)}"
        path = directory / container / f"{count}.log"
        return [line.split(" ", 3)[3] for line in path.read_text().splitlines()]

    def end(self, *names: str) -> None:
        for name in names:
            self.withdraw(name)
        self.wait_gone(*names)


def container(name: str, script: str = IDLE, **more: Any) -> dict[str, Any]:
    image = {"image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent"}
    return {"name": name, "command": ["sh", "-c", script], **image, **more}


@pytest.fixture(scope="module")
def node(session_runtime: RealRuntime) -> Iterator[PodNode]:
    with PodNode(session_runtime).serving() as agent:
        yield agent


def test_init_containers_sidecars_and_the_rest_come_up_in_order(node):
    inits = [container("prepare", "echo prepared"), container("side", restartPolicy="Always")]
    node.run("ordered", container("main", f"echo up; {IDLE}"), initContainers=inits)
    status = node.wait_phase("ordered", "Running")
    node.until(lambda: len(node.status("ordered")["containerStatuses"]) == 1, "its status")
    prepare, side = status["initContainerStatuses"]
    assert prepare["state"]["terminated"]["exitCode"] == 0
    assert "running" in side["state"]
    times = [one for one in node.containers() if one.pod_name == f"ordered-{NODE_NAME}"]
    started = {one.name: one.created_ns for one in times}
    assert started["prepare"] < started["side"] < started["main"]
    node.end("ordered")


def test_containers_share_an_empty_dir_and_see_a_host_path(node, tmp_path):
    (tmp_path / "given").write_text("from the host")
    volumes = [
        {"name": "shared", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "host", "hostPath": {"path": str(tmp_path), "type": "Directory"}},
    ]
    writer = container("writer", "echo hello > /s/file", volumeMounts=[{"name": "shared", "mountPath": "/s"}])
    mounts = [
        {"name": "shared", "mountPath": "/s"},
        {"name": "shared", "mountPath": "/part", "subPath": "file"},
        {"name": "memory", "mountPath": "/m"},
        {"name": "host", "mountPath": "/h", "readOnly": True},
    ]
    script = (
        "cat /s/file /part /h/given; echo; grep -c ' /m tmpfs' /proc/mounts; touch /h/x 2>/dev/null || echo read-only"
    )
    node.run("mounted", container("main", script, volumeMounts=mounts), initContainers=[writer], volumes=volumes,
             restartPolicy="Never")  # fmt: skip
    node.wait_phase("mounted", "Succeeded")
    lines = node.log_of("mounted")
    assert lines[:4] == ["hello", "hello", "from the host", "1"]
    assert lines[-1] == "read-only"
    node.end("mounted")
    assert os.listdir(tmp_path) == ["given"]


def test_limits_reach_the_cgroup_of_container_and_pod(node):
    resources = {"requests": {"cpu": "50m", "memory": "16Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
    node.run("limited", container("main", resources=resources))
    node.wait_phase("limited", "Running")
    tree, path = find(), f"{node.cgroup}/burstable/pod{node.uid('limited')}"
    limit = {1: "memory.limit_in_bytes", 2: "memory.max"}
    children = [name for name in tree.children(path) if "/" not in name]
    assert children, "the containers are below the pod"
    found = set(_read_everywhere(path, limit.values()))
    assert str(64 << 20) in found
    if this_machine().accounts_swap:
        swap = {1: ("memory.memsw.limit_in_bytes", str(64 << 20)), 2: ("memory.swap.max", "0")}[tree.version]
        assert swap[1] in set(_read_everywhere(path, swap[:1])), "the container may be swapped"
    node.end("limited")


def _read_everywhere(path: str, names: Any) -> Iterator[str]:
    for root, _, files in os.walk("/sys/fs/cgroup"):
        if path in root:
            for name in set(names) & set(files):
                yield Path(root, name).read_text().strip()


def test_environment_variables_describe_the_pod(node):
    env = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "GREETING", "value": "hello $(NAME)"},
        {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    resources = {"limits": {"memory": "32Mi", "cpu": "100m"}}
    script = "echo $GREETING; echo $LIMIT; echo $ADDRESS; hostname; grep -c Kubernetes-managed /etc/hosts"
    node.run("told", container("main", script, env=env, resources=resources), restartPolicy="Never")
    status = node.wait_phase("told", "Succeeded")
    name = f"told-{NODE_NAME}"
    assert node.log_of("told") == [f"hello {name}", "32", status["podIP"], name, "1"]
    node.end("told")


def test_the_termination_message_is_in_the_status(node):
    words = container("words", "echo bye > /dev/termination-log; exit 3")
    fallback = container("log", "echo gone; exit 4", terminationMessagePolicy="FallbackToLogsOnError")
    node.run("mourned", words, fallback, restartPolicy="Never")
    status = node.wait_phase("mourned", "Failed")
    ended = {one["name"]: one["state"]["terminated"] for one in status["containerStatuses"]}
    assert (ended["words"]["exitCode"], ended["words"]["message"]) == (3, "bye\n")
    assert (ended["log"]["exitCode"], ended["log"]["message"]) == (4, "gone\n")
    node.end("mourned")


def test_a_pod_in_the_hosts_network_sees_the_host(node):
    before = set(os.listdir("/sys/class/net"))
    node.run("hosted", container("main", "hostname; ls /sys/class/net"), hostNetwork=True, restartPolicy="Never")
    node.wait_phase("hosted", "Succeeded")
    lines = node.log_of("hosted")
    assert lines[0] == os.uname().nodename
    lasting = before & set(os.listdir("/sys/class/net"))  # those of other pods and runtimes come and go
    assert lasting <= set(lines[1:])
    node.end("hosted")


def test_a_pod_with_policy_on_failure_restarts_until_it_succeeds(node, tmp_path):
    volume = {"name": "state", "hostPath": {"path": str(tmp_path)}}
    script = "if [ -e /s/tried ]; then exit 0; fi; touch /s/tried; exit 1"
    mounts = [{"name": "state", "mountPath": "/s"}]
    node.run("retried", container("main", script, volumeMounts=mounts), volumes=[volume], restartPolicy="OnFailure")
    status = node.wait_phase("retried", "Succeeded")
    (only,) = status["containerStatuses"]
    assert only["restartCount"] == 1
    assert only["lastState"]["terminated"]["exitCode"] == 1
    node.end("retried")


def test_a_complete_pod_gives_back_its_volumes_and_cgroup_and_outlives_a_restart_of_the_agent(node):
    node.run("once", container("main", "echo once"), restartPolicy="Never",
             volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}])  # fmt: skip
    node.wait_phase("once", "Succeeded")
    uid = node.uid("once")
    node.until(lambda: f"pod{uid}" not in node.traces(), "its cgroup gone")
    node.until(lambda: uid not in Path("/proc/self/mountinfo").read_text(), "its volumes unmounted")
    before = [one.id for one in node.containers() if one.pod_uid == uid]
    node.stop()
    node.start()
    node.wait_whole()
    status = node.wait_phase("once", "Succeeded")
    assert status["containerStatuses"][0]["restartCount"] == 0
    assert [one.id for one in node.containers() if one.pod_uid == uid] == before
    assert node.log_of("once") == ["once"]
    node.end("once")


def test_a_pod_gets_its_grace_period_after_its_pre_stop_hook(node, tmp_path):
    volume = {"name": "notes", "hostPath": {"path": str(tmp_path)}}
    script = "trap 'sleep 1; echo term >> /n/notes; exit 0' TERM; echo up >> /n/notes; while :; do sleep 0.1; done"
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /n/notes"]}}}
    mounts = [{"name": "notes", "mountPath": "/n"}]
    node.run("graceful", container("main", script, lifecycle=hook, volumeMounts=mounts), volumes=[volume],
             terminationGracePeriodSeconds=20)  # fmt: skip
    node.until(lambda: (tmp_path / "notes").exists(), "up")
    node.end("graceful")
    assert (tmp_path / "notes").read_text().split() == ["up", "hook", "term"]


def test_a_pod_that_ignores_signals_is_killed_when_its_grace_period_ends(node):
    node.run("deaf", container("main", "trap '' TERM; while :; do sleep 1; done"), terminationGracePeriodSeconds=2)
    node.wait_phase("deaf", "Running")
    started_at = time.monotonic()
    node.withdraw("deaf")
    node.wait_gone("deaf", seconds=USUAL_GRACE_SECONDS - 5)
    assert time.monotonic() - started_at > 1.5


def test_logs_are_linked_and_removed_with_the_pod(node):
    node.run("linked")
    node.wait_phase("linked", "Running")
    (link,) = Path("/var/log/containers").glob(f"linked-{NODE_NAME}_test_main-*.log")
    directory = node.home / "logs" / f"test_linked-{NODE_NAME}_{node.uid('linked')}"
    assert Path(os.readlink(link)) == directory / "main" / "0.log"
    node.end("linked")
    node.until(lambda: not directory.exists() and not link.is_symlink(), "its logs gone")


def test_a_log_that_grows_is_rotated_and_no_line_is_lost(node):
    script = f"i=0; while [ $i -lt 1500 ]; do echo line $i; i=$((i+1)); [ $((i % 50)) = 0 ] && sleep 0.2; done; {IDLE}"
    node.run("chatty", container("main", script))
    node.wait_phase("chatty", "Running")
    directory = node.home / "logs" / f"test_chatty-{NODE_NAME}_{node.uid('chatty')}" / "main"

    def lines() -> list[str]:
        rotated = [path for path in sorted(directory.glob("0.log.*")) if path.suffix != ".tmp"]  # being compressed
        try:
            texts = [(path, path.read_bytes()) for path in (*rotated, directory / "0.log")]
        except FileNotFoundError:
            return []  # renamed meanwhile
        whole = b"".join(gzip.decompress(data) if path.suffix == ".gz" else data for path, data in texts)
        # the last line may be just being written
        return [fields[3] for line in whole.decode().splitlines() if len(fields := line.split(" ", 3)) == 4]

    node.until(lambda: list(directory.glob("0.log.*.gz")) and (directory / "0.log").exists(), "rotated twice")
    node.until(lambda: lines() == [f"line {number}" for number in range(1500)], "all lines, once")
    node.end("chatty")
    node.until(lambda: not directory.exists(), "its logs gone")


def test_security_settings_reach_the_process(node):
    context = {
        "runAsUser": 1234,
        "runAsGroup": 2345,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    script = (
        "id -u; id -g; id -G; touch /x 2>/dev/null || echo ro; grep -E 'CapBnd|NoNewPrivs|Seccomp:' /proc/self/status"
    )
    node.run("confined", container("main", script, securityContext=context), restartPolicy="Never",
             securityContext={"fsGroup": 3456, "seccompProfile": {"type": "RuntimeDefault"}})  # fmt: skip
    node.wait_phase("confined", "Succeeded")
    lines = node.log_of("confined")
    assert lines[:2] == ["1234", "2345"]
    assert "3456" in lines[2].split()
    assert lines[3] == "ro"
    values = dict(line.split(":\t") for line in lines[4:])
    assert values == {"CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}
    node.end("confined")


def test_an_image_with_user_root_is_refused_under_run_as_non_root(node):
    node.run("rooted", securityContext={"runAsNonRoot": True})
    node.until(
        lambda: (
            node.status("rooted").get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {}).get("reason")
            == "CreateContainerConfigError"
        ),
        "refused",
    )
    node.end("rooted")


def test_an_edited_manifest_replaces_the_pod_and_never_runs_two(node):
    node.run("edited", container("main", f"echo one; {IDLE}"))
    node.wait_phase("edited", "Running")
    old = node.uid("edited")
    node.run("edited", container("main", f"echo two; {IDLE}"))
    deadline = time.monotonic() + 40
    replaced = False
    while not replaced:
        assert node.doubles() == []
        assert time.monotonic() < deadline
        pod = node.pod("edited")
        replaced = bool(pod) and pod["metadata"]["uid"] != old and pod.get("status", {}).get("phase") == "Running"
        time.sleep(0.02)
    node.until(lambda: node.log_of("edited") == ["two"], "what the new one says, and no more")
    node.end("edited")
