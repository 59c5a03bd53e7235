"""Real pods eat memory, disk, inodes and process IDs, until the node evicts them. The machine itself stays safe: memory
is that of the node's own pods, the disk is a file system in memory."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.eviction_manager.eviction_signals import pid_signals
from actors.shared.linux import cgroup_tree
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.memory import total_memory
from tests.node.joined.test_pod_features import within
from tests.support.api_connection import Obj
from tests.support.joined import FOREVER, NODE, Joined, condition, container, joined, pod, status
from tests.support.runtime import RealRuntime

MIB = 1 << 20
SECONDS = 90.0


def event(site: Joined, name: str, reason: str) -> Obj:
    """The newest one; empty when there is none."""
    found = json.loads(site.kubectl("get", "events", "-o", "json"))["items"]
    return next((o for o in reversed(found) if o["involvedObject"]["name"] == name and o["reason"] == reason), {})


def evicted(site: Joined, name: str) -> Obj:
    """Its status, once it is."""
    found = status(site.wait_phase(name, "Failed", SECONDS))
    assert found["reason"] == "Evicted"
    return found


def wait_condition(site: Joined, kind: str) -> None:
    site.nodes.until(lambda: condition(site.nodes.now[f"/{NODE}"], kind).get("status") == "True", kind, SECONDS)


def memory_eater(mib: int, **more: Any) -> Obj:
    """Takes memory at some 200 MiB in a second, and ends when it is told to."""
    step = f"dd if=/dev/zero of=/memory/$i bs=1M count=20 2>/dev/null; i=$((i+1)); [ $i -ge {mib // 20} ] && break"
    eat = f"trap 'exit 143' TERM; sleep 2; i=0; while :; do {step}; sleep 0.1; done; while :; do sleep 0.2; done"
    mounts = [{"name": "memory", "mountPath": "/memory"}]
    return container("eater", "sh", "-c", eat, volumeMounts=mounts, **more)


_NUMBERS = itertools.count()
"""Each test has a node, and so a directory, of its own."""
IN_MEMORY = [{"name": "memory", "emptyDir": {"medium": "Memory"}}]


@pytest.fixture
def small(real_runtime: RealRuntime) -> Iterator[Joined]:
    """All pods together may have 600 MiB, of which 300 are to be left free."""
    reserved = {"memory": str(total_memory() - 600 * MIB)}
    hard = {"memory.available": "300Mi"}
    with joined(real_runtime, f"small-{next(_NUMBERS)}", kubeReserved=reserved, evictionHard=hard) as found:
        yield found


def test_a_pod_that_fills_the_memory_in_two_seconds_is_evicted_before_the_kernel_kills(small: Joined) -> None:
    idle = pod("idle")
    eater = pod("eater", memory_eater(500), volumes=IN_MEMORY)
    small.create(idle, eater)
    small.wait_pods_ready("idle", "eater")
    found = evicted(small, "eater")
    assert found["message"].startswith("The node was low on resource: memory. Threshold quantity: 300Mi, available: ")
    assert "Container eater was using" in found["message"]
    assert "request is 0, has larger consumption of memory. " in found["message"]
    disrupted = condition(small.pod("eater"), "DisruptionTarget")
    assert (disrupted["reason"], disrupted["message"]) == ("TerminationByKubelet", found["message"])
    (ended,) = found["containerStatuses"]
    assert ended["state"]["terminated"]["reason"] != "OOMKilled"
    assert status(small.pod("idle"))["phase"] == "Running"

    within(SECONDS, lambda: event(small, "eater", "Evicted") != {}, "the event of the pod")
    told = event(small, "eater", "Evicted")
    assert told["metadata"]["annotations"]["starved_resource"] == "memory"
    assert told["metadata"]["annotations"]["offending_containers"] == "eater"
    assert event(small, NODE, "EvictionThresholdMet")["message"] == "Attempting to reclaim memory"
    wait_condition(small, "MemoryPressure")
    assert condition(small.nodes.now[f"/{NODE}"], "DiskPressure")["status"] == "False"


def test_an_eviction_manager_that_is_killed_again_and_again_evicts_one_pod(small: Joined) -> None:
    requests = {"requests": {"memory": "150Mi"}}
    modest = pod("modest", memory_eater(100, resources=requests), volumes=IN_MEMORY)
    eater = pod("eater", memory_eater(240), volumes=IN_MEMORY, terminationGracePeriodSeconds=30)
    small.create(modest)
    small.wait_pods_ready("modest")
    small.create(eater)
    for _ in range(4):
        before = small.node.actors()["eviction_manager"].incarnation
        small.node.inject("eviction_manager", "crash")
        small.node.wait_replaced("eviction_manager", before)
        if status(small.pod("eater")).get("phase") == "Failed":
            break
    evicted(small, "eater")
    assert status(small.pod("modest"))["phase"] == "Running"
    within(SECONDS, lambda: event(small, "eater", "Evicted") != {}, "the event of the pod")


@contextmanager
def on_a_small_disk(runtime: RealRuntime, name: str, options: str, **config: Any) -> Iterator[Joined]:
    """The root directory is a file system in memory."""
    root = Path(runtime.base, name, "root")
    root.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(root)], check=True)
    try:
        with joined(runtime, name, **config) as found:
            yield found
    finally:
        subprocess.run(["umount", "-l", str(root)], check=False, stderr=subprocess.DEVNULL)


def writer(name: str, command: str, **more: Any) -> Obj:
    """A pod that writes to /cache and goes on."""
    run = f"{command}; trap 'exit 143' TERM; while :; do sleep 0.2; done"
    main = container("main", "sh", "-c", run, volumeMounts=[{"name": "cache", "mountPath": "/cache"}])
    return pod(name, main, volumes=[{"name": "cache", "emptyDir": more}])


def test_a_pod_that_fills_the_disk_is_evicted_and_the_disk_is_free_again(real_runtime: RealRuntime) -> None:
    hard = {"nodefs.available": "100Mi"}
    with on_a_small_disk(real_runtime, "disk", "size=200m", evictionHard=hard) as site:
        site.create(pod("idle"), writer("writer", "dd if=/dev/zero of=/cache/x bs=1M count=130 2>/dev/null"))
        found = evicted(site, "writer")
        text = "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: "
        assert found["message"].startswith(text)
        assert status(site.pod("idle"))["phase"] == "Running"
        wait_condition(site, "DiskPressure")
        refused = status(site.wait_phase(site.create(pod("late"))[0], "Failed"))
        assert refused["message"] == "Pod was rejected: The node had condition: [DiskPressure]. "


def test_a_pod_that_takes_all_inodes_is_evicted(real_runtime: RealRuntime) -> None:
    hard = {"nodefs.inodesFree": "2000"}
    with on_a_small_disk(real_runtime, "inodes", "size=200m,nr_inodes=6000", evictionHard=hard) as site:
        touch = "i=0; while [ $i -lt 4500 ]; do : > /cache/$i || break; i=$((i+1)); done"
        site.create(pod("idle"), writer("writer", touch))
        found = evicted(site, "writer")
        assert found["message"].startswith("The node was low on resource: inodes. Threshold quantity: 2k, available: ")
        assert status(site.pod("idle"))["phase"] == "Running"


def test_a_pod_that_takes_the_process_ids_is_evicted(real_runtime: RealRuntime) -> None:
    left = pid_signals()["pid.available"]
    with joined(real_runtime, "pids", evictionHard={"pid.available": str(left.available - 1500)}) as site:
        fork = "i=0; while [ $i -lt 2200 ]; do sleep 1000 & i=$((i+1)); done; trap 'exit 143' TERM; wait"
        site.create(pod("idle"), pod("forker", container("main", "sh", "-c", fork)))
        found = evicted(site, "forker")
        assert found["message"].startswith("The node was low on resource: pids. Threshold quantity: ")
        assert status(site.pod("idle"))["phase"] == "Running"
        wait_condition(site, "PIDPressure")


def test_a_pod_over_the_limit_of_an_empty_dir_is_evicted(real_runtime: RealRuntime) -> None:
    with joined(real_runtime, "limits", evictionHard={}, volumeStatsAggPeriod="2s") as site:
        write = "dd if=/dev/zero of=/cache/x bs=1M count=20 2>/dev/null"
        site.create(writer("within", write, sizeLimit="30Mi"), writer("over", write, sizeLimit="10Mi"))
        layer = container("main", "sh", "-c", "dd if=/dev/zero of=/x bs=1M count=20 2>/dev/null; sleep 1000")
        limited = {**layer, "resources": {"limits": {"ephemeral-storage": "5Mi"}}}
        site.create(pod("layer", limited))
        assert evicted(site, "over")["message"] == 'Usage of EmptyDir volume "cache" exceeds the limit "10Mi". '
        assert condition(site.pod("over"), "DisruptionTarget") == {}
        text = "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. "
        assert evicted(site, "layer")["message"] == text
        assert status(site.pod("within"))["phase"] == "Running"


def test_a_child_that_the_kernel_kills_for_memory_is_an_event_that_names_the_container(small: Joined) -> None:
    grow = "while :; do sleep 1; tail /dev/zero; done"
    limited = container("greedy", "sh", "-c", grow, resources={"limits": {"memory": "32Mi"}})
    small.create(pod("family", container("calm"), limited))
    within(SECONDS, lambda: event(small, "family", "OOMKilling") != {}, "an event of the pod")
    told = event(small, "family", "OOMKilling")
    assert told["message"].startswith("Memory cgroup out of memory: killed process tail, pid: ")
    assert told["involvedObject"]["fieldPath"] == "spec.containers{greedy}"
    assert event(small, NODE, "SystemOOM") == {}


def test_a_process_outside_any_pod_that_the_kernel_kills_for_its_cgroup_is_no_event(small: Joined) -> None:
    """As with the kubelet, to which SystemOOM is the memory of the whole node."""
    outside, pod_of_later = f"/{small.node.cgroup.strip('/')}-outside", "later"
    tree = cgroup_tree.find("")
    tree.create(outside)
    try:
        tree.apply(outside, CgroupLimits(memory_bytes=16 * MIB))
        with subprocess.Popen(["sh", "-c", "read go; exec tail /dev/zero"], stdin=subprocess.PIPE) as victim:
            tree.enter(outside, victim.pid)
            victim.communicate(b"\n", timeout=SECONDS)
        assert victim.returncode == -signal.SIGKILL
        text = f"the kernel killed tail ({victim.pid}) of {outside}: out of memory"
        within(SECONDS, lambda: text in small.node.log.read_text(errors="replace"), "a line in the log")
    finally:
        tree.remove(outside)
    # an event of a pod comes after one that the node would have had
    grow = container("greedy", "sh", "-c", "tail /dev/zero; sleep 1000", resources={"limits": {"memory": "32Mi"}})
    small.create(pod(pod_of_later, grow))
    within(SECONDS, lambda: event(small, pod_of_later, "OOMKilling") != {}, "an event of the pod")
    assert event(small, NODE, "SystemOOM") == {}
    assert event(small, NODE, "OOMKilling") == {}


def test_a_critical_pod_gets_the_room_of_another_one(real_runtime: RealRuntime) -> None:
    with joined(real_runtime, "critical", systemReserved={"cpu": "0"}) as site:
        cores = len(os.sched_getaffinity(0))

        def asks(name: str, cpu: float, **spec: Any) -> Obj:
            resources = {"requests": {"cpu": f"{int(1000 * cpu * cores)}m"}}
            return pod(name, container("main", *FOREVER, resources=resources), **spec)

        site.create(asks("small", 0.3), asks("large", 0.6))
        site.wait_pods_ready("small", "large")
        site.create(asks("critical", 0.5, priorityClassName="system-node-critical", priority=2_000_001_000))
        site.wait_pods_ready("critical")
        found = status(site.wait_phase("large", "Succeeded", SECONDS))  # its container exits with 0
        assert "reason" not in found
        disrupted = condition(site.pod("large"), "DisruptionTarget")
        assert disrupted["message"] == "Pod was preempted by Kubelet to accommodate a critical pod."
        assert status(site.pod("small"))["phase"] == "Running"
        assert event(site, "large", "Preempting")["message"] == "Preempted in order to admit critical pod"
