"""Pods with odd values in each field, as no API server should let through: each is the pod's trouble, never an actor's.

Some hundred of them; `ODD_PODS=number` has others. A failure says the field and the value.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.actor import ContainerManager
from actors.container_manager.messages import AdmitPod, GetNodeResources, NodeResources, PodAdmitted
from actors.pod_config.sources.api_source import ApiSource
from actors.pod_workers.messages import PodOperation, ShardPods
from actors.prober.actor import Prober
from actors.prober.messages import PodAddress, ProbedContainer, ProbedPod
from actors.prober.outcome import ProbeOutcome
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.http_get.dialer import DialError
from actors.status_manager.actor import StatusManager
from actors.status_manager.messages import GetPods, PodObserved, Pods
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import memory_mounts, mount_propagation
from actors.volume_manager.messages import (
    BindSubPaths,
    MountVolumes,
    SubPathsBound,
    VolumesMounted,
)
from supervision.message import Message
from supervision.testing.harness import Harness
from tests.support.shard_harness import FOREVER, Driven

pytestmark = pytest.mark.slow

PODS = 150
SEED = int(os.environ.get("ODD_PODS", "1"))
UID = "u"
ODD: list[Any] = [
    None, 0, -1, 10**12, 2**63, 10**30, 1.5, 1e308, "", "x", "..", "../../etc", "/", "\n", "é\u2028", "$(A)$(B",
    "A" * 300, "9" * 5000, "²", "-", "1e999", "1Ei", "0x10", True, False, [], {}, [None], [{}], {"a": None}, [[]],
]  # fmt: skip
HTTP = {"httpGet": {"path": "/x", "port": "http", "host": "", "httpHeaders": [{"name": "A", "value": "b"}]}}
CONTAINER = {
    "name": "a",
    "image": "busybox",
    "command": FOREVER,
    "args": ["$(X)"],
    "env": [
        {"name": "X", "value": "y"},
        {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}},
    ],
    "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080, "protocol": "TCP", "hostIP": "0.0.0.0"}],
    "resources": {"requests": {"cpu": "10m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "10Mi"}},
    "volumeMounts": [{"name": "data", "mountPath": "/d", "subPathExpr": "$(X)", "readOnly": False}],
    "livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 1, "terminationGracePeriodSeconds": 5},
    "readinessProbe": HTTP,
    "startupProbe": {"grpc": {"port": 80, "service": "s"}, "failureThreshold": 3},
    "lifecycle": {"postStart": {"sleep": {"seconds": 1}}, "preStop": {"sleep": {"seconds": 1}}},
    "securityContext": {
        "runAsUser": 1000,
        "runAsGroup": 1,
        "runAsNonRoot": True,
        "capabilities": {"add": ["A"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"},
        "seLinuxOptions": {"level": "s0"},
    },
    "terminationMessagePolicy": "FallbackToLogsOnError",
}
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "default",
        "uid": UID,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": None,
    },
    "spec": {
        "initContainers": [{"name": "i", "image": "busybox", "command": FOREVER}],
        "containers": [CONTAINER],
        "volumes": [
            {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "dw", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "sec", "secret": {"secretName": "s", "optional": True, "items": [{"key": "k", "path": "p"}]}},
            {"name": "hp", "hostPath": {"path": "/tmp", "type": "Directory"}},
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "activeDeadlineSeconds": 1000,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]},
        "securityContext": {
            "fsGroup": 2,
            "supplementalGroups": [3],
            "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
        },
        "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a"]}],
        "overhead": {"cpu": "1m"},
        "readinessGates": [{"conditionType": "x/y"}],
        "resources": {"requests": {"cpu": "1"}},
    },
    "status": {
        "phase": "Pending",
        "qosClass": "Burstable",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each field and item."""
    if path and path not in {("metadata", "uid"), ("metadata",)}:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def changed(path: tuple[Any, ...], odd: Any) -> dict[str, Any]:
    pod = copy.deepcopy(POD)
    inner: Any = pod
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return pod


def odd_pods() -> Iterator[tuple[str, bytes]]:
    """Those that are passed on to the actors, each with what is odd in it."""
    rng = random.Random(SEED)
    found, everywhere = 0, list(places(POD))
    while found < PODS:
        path, odd = rng.choice(everywhere), rng.choice(ODD)
        source = ApiSource(lambda uid, data: data)
        source.listed([json.dumps(changed(path, odd)).encode()])
        for candidate in source.candidates:
            found += 1
            yield f"{'.'.join(map(str, path))} = {str(odd)[:40]!r} (ODD_PODS={SEED})", candidate.data


async def test_the_plain_pod_runs(tmp_path):
    async with driven(tmp_path) as node:
        await node.harness.deliver(PodOperation("set", UID, json.dumps(POD).encode()))
        await node.until(lambda: node.running("i"))
        await node.end("i")
        await node.until(lambda: node.running("a"))


def driven(tmp_path: Path) -> Driven:
    node = Driven(tmp_path)
    node.answer(
        MountVolumes, lambda question: VolumesMounted(question.uid, dict.fromkeys(("data", "dw", "sec", "hp"), "/x"))
    )
    node.answer(BindSubPaths, lambda question: SubPathsBound(question.uid, question.container, {0: "/x"}))
    return node


async def test_no_malformed_pod_ends_a_worker(tmp_path):
    for number, (what, data) in enumerate(odd_pods()):
        try:
            async with driven(tmp_path / str(number)) as node:
                await node.harness.deliver(PodOperation("set", UID, data))
                await node.pass_time(2.0)
                for name in ("i", "a"):
                    if node.running(name):
                        await node.end(name, exit_code=number % 2)
                        await node.pass_time(2.0)
                await node.remove()
                await node.pass_time(40.0)
        except Exception as error:
            error.add_note(what)
            raise


async def told(harness: Harness, *messages: Any, what: str, seconds: float = 0.0) -> Message | None:
    """The answer to the last message."""
    answer: Message | None = None
    try:
        async with harness:
            for message in messages:
                answer = await harness.deliver(message)
            await harness.advance(seconds)
    except Exception as error:
        error.add_note(what)
        raise
    return answer


async def test_no_malformed_pod_ends_the_volume_manager(tmp_path, monkeypatch):
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    monkeypatch.setattr(memory_mounts, "mount_memory", lambda *_: True)
    answers = []
    for number, (what, data) in enumerate(odd_pods()):
        harness = Harness(
            VolumeManager,
            name="volume_manager",
            context=Agent(root_dir=f"{tmp_path}/{number}", run_dir=f"{tmp_path}/{number}/run", workers=2),
        )
        for function in (
            "host.host_path:check_host_path",
            "host.ownership:apply_group",
        ):
            harness.disposables[f"actors.volume_manager.{function}"] = lambda **_: ""
        harness.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 1))
        answers.append(type(await told(harness, MountVolumes(UID, data), what=what)))
    assert answers.count(VolumesMounted) > 100, "volumes are mounted"


async def test_no_malformed_pod_ends_the_container_manager(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 4194304 kB\n")
    (tmp_path / "proc/self/mountinfo").write_text("30 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
    settings = KubeletConfiguration(cgroupsPerQOS=False, enforceNodeAllocatable=[], evictionHard={})
    agent = Agent(root_dir=f"{tmp_path}/kubelet", run_dir=f"{tmp_path}/run", workers=2, config=settings)
    answers = []
    for what, data in odd_pods():
        arguments = {"host": str(tmp_path)}
        harness = Harness(ContainerManager, name="container_manager", context=agent, arguments=arguments)
        answers.append(type(await told(harness, AdmitPod(UID, data, running=True), what=what)))
    assert answers.count(PodAdmitted) > 100, "pods are admitted"


async def test_no_malformed_pod_ends_the_prober(tmp_path, monkeypatch):
    tried: list[object] = []

    async def refused(host, port, tls=None, whose=""):
        tried.append(host)
        raise DialError("refused")

    async def sick(host, port, service, timeout, whose):
        tried.append(service)
        return ProbeOutcome("failure")

    for module in ("prober.tcp_probe.dial", "shared.http_get.exchange.dial"):
        monkeypatch.setattr(f"actors.{module}", refused)
    monkeypatch.setattr("actors.prober.grpc_probe.probe_grpc", sick)
    pods = list(odd_pods())
    for what, data in pods:
        for started in (False, True):  # the startup probe, then those that wait for it
            agent = Agent(run_dir=str(tmp_path), workers=2)
            harness = Harness(Prober, name="prober", context=agent, arguments={"runtime": object()})
            pod = ProbedPod(UID, data, [ProbedContainer("a", "c", True, 1, started)])
            await told(harness, pod, PodAddress(UID, "127.0.0.1"), what=what, seconds=15.0)
    assert len(tried) > 4 * len(pods), "the probes have run"


async def test_no_malformed_pod_ends_the_status_manager(tmp_path):
    answers: list[Any] = []
    for number, (what, data) in enumerate(odd_pods()):
        agent = Agent(root_dir=f"{tmp_path}/{number}", node_ip="192.0.2.1", workers=2)
        seen = []
        for at, stage in enumerate(("admitting", "running", "terminating", "terminated")):
            state = CriContainerState.EXITED if stage == "terminated" else CriContainerState.RUNNING
            ran = CriContainer(id="c", name="a", pod_uid=UID, state=state, started_ns=10**18, exit_code=1)
            box = Sandbox(id="s", pod_uid=UID, pod_name="p", pod_namespace="default", ready=True, ips=["192.0.2.9"])
            runtime = PodRuntime(uid=UID, sandboxes=[box], containers=[ran], at=float(at))
            seen.append(PodObserved(UID, data, stage, runtime=runtime))  # type: ignore[arg-type]
        harness = Harness(StatusManager, name="status_manager", context=agent)
        answers.append(await told(harness, *seen, ShardPods("w", 1, [UID]), GetPods(), what=what))
    assert all(isinstance(one, Pods) and b"terminated" in one.data for one in answers), "each has a status"


@pytest.mark.parametrize("quantity", ["1e999", "-", "²", "1e30"])
async def test_a_limit_that_the_kernel_rejects_fails_only_its_pod(tmp_path, quantity):
    odd = changed(("spec", "containers", 0, "resources", "limits", "cpu"), quantity)
    async with driven(tmp_path) as node:
        await node.harness.deliver(PodOperation("set", UID, json.dumps(odd).encode()))
        await node.pass_time(2.0)
        assert node.waiting("a") in {"ContainerCreating", "PodInitializing", "CreateContainerConfigError"}
        assert any("Failed" in reason for reason, _ in node.events())
