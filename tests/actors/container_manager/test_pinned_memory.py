"""The static memory policy on a made-up machine: nodes of a container's memory, restarts, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.container_manager.cpu.state import StateError
from actors.container_manager.messages import (
    GetExclusiveHardware,
    PodAdmitted,
    PodRejected,
    PrepareContainer,
    StopCounting,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.config.fields.groups import MemoryReservation
from actors.shared.hardware.exclusive import ContainerExclusive, Exclusive, MemoryOfNodes
from actors.shared.kube.codec import encode
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import GIB, machine, write_sysfs
from tests.support.managed_host import Host, admit

STATIC: dict[str, Any] = {
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "1Gi", "cpu": "1"},
    "reservedMemory": [MemoryReservation(0, {"memory": "1Gi"})],
}
BOTH = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "single-numa-node"}


@pytest.fixture
def two(host: Host) -> Host:
    """4 GiB in all, of which node 0 has 1 GiB for pods and node 1 has 2."""
    write_sysfs(host.root, machine(sockets=2, nodes=2, cores=2, memory=2 * GIB))
    return host


def asks(memory: str, cpu: str = "500m", uid: str = "u") -> bytes:
    return encode(pod_of(asking("a", cpu, memory), uid=uid))


def entries(host: Host) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((host.root / "kubelet/memory_manager_state").read_text()).get("entries", {})
    return found


async def test_memory_comes_from_as_few_nodes_as_can_be_also_after_a_restart(two):
    async with two.start(**STATIC) as manager:
        answer = await admit(manager, "u", asks("2Gi"))
        assert answer.containers["a"].cpuset_mems == "1"
        assert not answer.prepare
    async with two.start(**STATIC) as manager:
        assert await admit(manager, "u", asks("2Gi"), running=True) == answer
        assert (await admit(manager, "v", asks("1Gi", uid="v"))).containers["a"].cpuset_mems == "0"
        await manager.deliver(StopCounting("u"))
        assert list(entries(two)) == ["v"]
    async with two.start(**STATIC) as manager:
        await manager.deliver(ShardPods("pod_workers/worker/0", 1, []))
        assert entries(two) == {}


async def test_memory_of_an_init_container_is_free_for_other_pods_once_a_later_one_is_created(two):
    def pod(uid: str) -> bytes:
        return encode(pod_of(asking("a", memory="512Mi"), init=[asking("i", memory="1536Mi")], uid=uid))

    ended = PrepareContainer("u", "a", ["i"])
    async with two.start(**STATIC) as manager:
        answer = await admit(manager, "u", pod("u"))
        assert answer.prepare
        assert {name: one.cpuset_mems for name, one in answer.containers.items()} == {"i": "1", "a": "0"}
        first = await manager.deliver(PrepareContainer("u", "i"))
        assert first.allocation.cpuset_mems == "1"
        assert isinstance(await admit(manager, "v", pod("v")), PodRejected)
        for _ in range(2):
            assert (await manager.deliver(ended)).allocation.cpuset_mems == "0"
        assert list(entries(two)["u"]) == ["a"]
        assert (await admit(manager, "w", asks("1536Mi", uid="w"))).containers["a"].cpuset_mems == "1"
    async with two.start(**STATIC) as manager:
        for running in (True, False):
            again = await admit(manager, "u", pod("u"), running=running)
            assert {name: one.cpuset_mems for name, one in again.containers.items()} == {"a": "0"}
        assert list(entries(two)["u"]) == ["a"]


async def test_cpus_and_memory_come_from_the_same_node(two):
    async with two.start(**STATIC | BOTH) as manager:
        answer = await admit(manager, "u", asks("1536Mi", "1"))
        allocation = answer.containers["a"]
        assert (allocation.cpuset_mems, allocation.cpuset_cpus) == ("1", "2")
        refused = await admit(manager, "v", asks("1Gi", "2", uid="v"))
        assert refused.reason == "TopologyAffinityError"
        assert list(entries(two)) == ["u"]
        assert isinstance(await admit(manager, "w", asks("1Gi", "1", uid="w")), PodAdmitted)


async def test_pinned_memory_is_reported_with_the_memory_of_the_node(two):
    async with two.start(**STATIC | BOTH) as manager:
        await admit(manager, "u", asks("1536Mi", "1"))
        await admit(manager, "shared", asks("64Mi", uid="shared"))
        found = (await manager.deliver(GetExclusiveHardware())).found
        own = ContainerExclusive(cpus=(2,), memory=(MemoryOfNodes("memory", 1536 << 20, (1,)),))
        assert found.pods["u"] == {"a": own}
        assert found.pods["shared"]["a"].cpus == ()
        assert found.cpus == (1, 2, 3)
        assert found.memory == (MemoryOfNodes("memory", 1 * GIB, (0,)), MemoryOfNodes("memory", 2 * GIB, (1,)))
        await manager.deliver(StopCounting("u"))
        assert "u" not in (await manager.deliver(GetExclusiveHardware())).found.pods


async def test_without_a_static_policy_nothing_is_exclusive(two):
    async with two.start() as manager:
        await admit(manager, "u", asks("1Gi", "1"))
        assert (await manager.deliver(GetExclusiveHardware())).found == Exclusive()


async def test_a_pod_without_free_memory_is_refused_and_keeps_no_cpus(two):
    async with two.start(**STATIC, cpuManagerPolicy="static") as manager:
        await admit(manager, "first", asks("1536Mi", uid="first"))
        answer = await admit(manager, "u", asks("1200Mi", "1"))
        assert (answer.reason, answer.message) == (
            "UnexpectedAdmissionError",
            "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
            "memory is available, which is unexpected",
        )
        assert "entries" not in json.loads((two.root / "kubelet/cpu_manager_state").read_text())


async def test_the_file_names_the_none_policy_without_the_static_policy(two):
    async with two.start() as manager:
        assert (await admit(manager, "u", asks("1Gi"))).containers == {}
    text = '{"policyName":"None","machineState":{},"checksum":4236770233}'
    assert (two.root / "kubelet/memory_manager_state").read_text() == text


async def test_a_start_with_a_reservation_of_another_size_is_refused(two):
    wrong = {**STATIC, "reservedMemory": [MemoryReservation(0, {"memory": "2Gi"})]}
    text = (
        'the total amount "2Gi" of type "memory" is not equal to the value "1Gi" determined by Node Allocatable feature'
    )
    with pytest.raises(StateError, match=f"^{text} .reservedMemory; kubeReserved, "):
        async with two.start(**wrong):
            pass
