"""The container manager on a machine with cgroups v2."""

import pytest

from tests.support.machines import machine, write_sysfs
from tests.support.managed_host import admit, pod

GUARANTEED = pod(limits={"cpu": "1m", "memory": "64Mi"})
V2 = ("/kubepods", "/kubepods/burstable", "/kubepods/burstable/podu1", "/kubepods/podu2")


async def test_memory_of_pods_is_protected_on_v2_until_the_policy_is_removed(host):
    host.unify(*V2)
    protected = {"featureGates": {"MemoryQoS": True}, "memoryReservationPolicy": "TieredReservation"}

    async def files(**config):
        async with host.start(**config) as manager:
            await admit(manager, "u1", pod(memory="32Mi"), running=True)
            await admit(manager, "u2", GUARANTEED, running=True)
            await manager.advance(1.0)
        where = [
            ("", "memory.min"),
            ("burstable", "memory.low"),
            ("burstable/podu1", "memory.low"),
            ("podu2", "memory.min"),
        ]
        return [int(host.read_unified(f"kubepods/{cgroup}", name)) >> 20 for cgroup, name in where]

    assert await files(**protected) == [96, 32, 32, 64]
    assert await files() == [0, 0, 0, 0]


@pytest.mark.parametrize(("policy", "mebibytes"), [("TieredReservation", (64, 32)), ("None", (0, 0))])
async def test_the_metrics_of_protected_memory_tell_the_classes_apart(host, policy, mebibytes):
    host.unify(*V2)
    async with host.start(featureGates={"MemoryQoS": True}, memoryReservationPolicy=policy) as manager:
        await admit(manager, "u1", pod(memory="32Mi"), running=True)
        await admit(manager, "u2", GUARANTEED, running=True)
        await manager.advance(1.0)
        samples = {one.name: one.value for one in manager.actor.metrics.snapshot("x", 1).samples}
    shown = [samples[f"kubelet_memory_qos_node_memory_{name}_bytes"] for name in ("min", "low")]
    assert shown == [amount << 20 for amount in mebibytes]


@pytest.mark.parametrize(("policy", "cpus"), [("none", "0,1,2"), ("static", "")])
async def test_pods_may_use_all_cpus_on_v2_and_systemd_has_the_same_limit(host, policy, cpus):
    write_sysfs(host.root, machine(cores=3))
    host.unify("/kubepods.slice")
    config = {} if policy == "none" else {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
    async with host.start("systemd", **config) as manager:
        await manager.settle()
    assert host.read_unified("kubepods.slice", "cpuset.cpus") == cpus
    told = {name: value.value for _, arguments in host.calls for one in arguments if isinstance(one, list)
            for name, value in one if name == "AllowedCPUs"}  # fmt: skip
    assert told == ({"AllowedCPUs": b"\x07"} if cpus else {})
