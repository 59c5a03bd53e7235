"""A pod for which a real node has no room, and a critical static pod, which gets it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.node.joined.test_eviction import event
from tests.support.joined import FOREVER, NODE, Joined, condition, container, joined, pod, status
from tests.support.runtime import RealRuntime

CORES = len(os.sched_getaffinity(0))
SECONDS = 90.0


def asks(name: str, cpu: float = 0.0, memory: str = "", *, limits: bool = False, **spec: Any) -> dict[str, Any]:
    """`cpu`: in parts of all CPUs."""
    requests = {"cpu": f"{int(1000 * cpu * CORES)}m"} if cpu else {}
    requests |= {"memory": memory} if memory else {}
    return pod(name, container("main", *FOREVER, resources={"limits" if limits else "requests": requests}), **spec)


def refused(site: Joined, made: dict[str, Any]) -> tuple[str, str]:
    """Reason and message. Nothing of it has run."""
    (name,) = site.create(made)
    found = status(site.wait_phase(name, "Failed", SECONDS))
    assert not found.get("containerStatuses")
    assert not any(one.pod_name == name for one in site.node.containers())
    return found["reason"], found["message"]


@pytest.fixture
def full(real_runtime: RealRuntime) -> Iterator[Joined]:
    """Two pods at most; one of them requests half of the CPUs."""
    with joined(real_runtime, "full", systemReserved={"cpu": "0"}, maxPods=2) as site:
        site.create(asks("half", 0.5))
        site.wait_pods_ready("half")
        yield site


def test_a_pod_that_finds_no_room_is_refused_with_the_resource_that_is_missing(full: Joined) -> None:
    text = "Pod was rejected: Node didn't have enough resource: "
    all_cpus, half = 1000 * CORES, 500 * CORES
    cpu = f"cpu, requested: {int(600 * CORES)}, used: {half}, capacity: {all_cpus}"
    assert refused(full, asks("cpus", 0.6)) == ("OutOfcpu", f"{text}{cpu}")
    reason, message = refused(full, asks("memory", memory="1000Ti"))
    assert reason == "OutOfmemory"
    assert message.startswith(f"{text}memory, requested: {1000 << 40}, used: 0, capacity: ")
    reason, message = refused(full, asks("both", 0.6, "1000Ti"))
    assert reason == "OutOfcpu"
    full.create(asks("second"))
    full.wait_pods_ready("half", "second")
    assert refused(full, asks("third")) == ("OutOfpods", f"{text}pods, requested: 1, used: 2, capacity: 2")
    full.delete("second")
    full.wait_no_pod("second")
    full.create(asks("fourth"))
    full.wait_pods_ready("fourth")


def test_a_pod_whose_cpus_are_not_on_one_numa_node_is_refused(real_runtime: RealRuntime) -> None:
    if CORES < 2:
        pytest.skip("NOT TESTED with CPUs of their own: this needs two CPUs")
    fields = {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "restricted",
        "reservedSystemCPUs": str(min(os.sched_getaffinity(0))),
    }
    with joined(real_runtime, "aligned", **fields) as site:
        whole = asks("whole", 1.0, "16Mi", limits=True)
        text = "Pod was rejected: Resources cannot be allocated with Topology locality"
        assert refused(site, whole) == ("TopologyAffinityError", text)
        site.create(asks("rest", (CORES - 1) / CORES, "16Mi", limits=True))
        site.wait_pods_ready("rest")


def test_a_critical_static_pod_gets_the_room_of_the_pod_that_gives_most_of_it(real_runtime: RealRuntime) -> None:
    with joined(real_runtime, "static", systemReserved={"cpu": "0"}) as site:
        site.create(asks("small", 0.3), asks("large", 0.6))
        site.wait_pods_ready("small", "large")
        site.node.write("control", json.dumps(asks("control", 0.5)))
        site.wait_pods_ready(f"control-{NODE}", seconds=SECONDS)
        found = site.wait_phase("large", "Succeeded", SECONDS)  # its container exits with 0
        disrupted = condition(found, "DisruptionTarget")
        assert disrupted["reason"] == "TerminationByKubelet"
        assert disrupted["message"] == "Pod was preempted by Kubelet to accommodate a critical pod."
        assert event(site, "large", "Preempting")["message"] == "Preempted in order to admit critical pod"
        assert status(site.pod("small"))["phase"] == "Running"
        assert site.restarts() == dict.fromkeys(("default/small", "default/large", f"default/control-{NODE}"), 0)
        site.node.withdraw("control")
        site.wait_no_pod(f"control-{NODE}")


def test_a_critical_static_pod_that_fits_nowhere_ends_nobody(real_runtime: RealRuntime) -> None:
    with joined(real_runtime, "crowded", systemReserved={"cpu": "0"}) as site:
        site.create(asks("small", 0.3))
        site.wait_pods_ready("small")
        site.node.write("control", json.dumps(asks("control", 1.5)))
        found = status(site.wait_phase(f"control-{NODE}", "Failed", SECONDS))
        assert found["reason"] == "UnexpectedAdmissionError"
        text = "preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: "
        assert f"{text}[(res: cpu, q: {500 * CORES}), ]" in found["message"]
        assert status(site.pod("small"))["phase"] == "Running"
        assert event(site, "small", "Preempting") == {}
        site.node.withdraw("control")
        site.wait_no_pod(f"control-{NODE}")
