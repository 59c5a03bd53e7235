"""CPUs that go offline, and memory that changes, while the agent runs with static policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.container_manager.cpu.state import StateError
from actors.shared.config.fields.groups import MemoryReservation
from actors.shared.kube.codec import encode
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import GIB, machine, write_sysfs
from tests.support.managed_host import Host, admit

CPUS: dict[str, Any] = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}
MEMORY: dict[str, Any] = {
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "1Gi", "cpu": "1"},
    "reservedMemory": [MemoryReservation(0, {"memory": "1Gi"})],
}
GUARANTEED = encode(pod_of(asking("a", "2", "1Gi"), uid="u"))


def kept_machine(host: Host) -> Any:
    return host.root / "kubelet/run/state/machine"


async def test_a_restarted_container_manager_continues_when_a_cpu_has_gone_offline(host, caplog):
    write_sysfs(host.root, machine(cores=4, threads=2))
    async with host.start(**CPUS) as manager:
        first = await admit(manager, "u", GUARANTEED)
        assert first.containers["a"].cpuset_cpus == "1,5"
    (host.root / "sys/devices/system/cpu/online").write_text("0-6\n")
    async with host.start(**CPUS, incarnation=2) as manager:
        assert await admit(manager, "u", GUARANTEED, running=True) == first
    assert "CPUs 0-6 are online; the static policies go on with CPUs 0-7, until the agent starts again" in caplog.text
    text = 'current set of available CPUs "0-6" doesn\'t match with CPUs in state "0-7"'
    with pytest.raises(StateError, match=text):
        async with host.start(**CPUS):
            pass


async def test_a_restarted_container_manager_continues_when_huge_pages_have_taken_memory(host, caplog):
    write_sysfs(host.root, machine(nodes=2, memory=2 * GIB))
    async with host.start(**MEMORY) as manager:
        first = await admit(manager, "u", GUARANTEED)
    write_sysfs(host.root, machine(nodes=2, memory=2 * GIB, huge_pages={"hugepages-2Mi": 64 << 20}))
    async with host.start(**MEMORY, incarnation=2) as manager:
        assert await admit(manager, "u", GUARANTEED, running=True) == first
    change = f"hugepages-2Mi of NUMA node 0 is {64 << 20}, and was 0; "
    assert change in caplog.text
    difference = (
        r"is different from the real one \(NUMA node 0: memoryMap: memory in the file, memory, hugepages-2Mi now"
    )
    with pytest.raises(StateError, match=difference):
        async with host.start(**MEMORY):
            pass


async def test_a_restarted_container_manager_continues_when_the_machine_cannot_be_read(host):
    write_sysfs(host.root, machine())
    async with host.start(**CPUS) as manager:
        first = await admit(manager, "u", GUARANTEED)
    (host.root / "sys/devices/system/cpu/online").unlink()
    async with host.start(**CPUS, incarnation=2) as manager:
        assert await admit(manager, "u", GUARANTEED, running=True) == first


async def test_a_new_agent_takes_the_machine_as_it_is(host):
    write_sysfs(host.root, machine(cores=4))
    async with host.start(**CPUS):
        pass
    (host.root / "kubelet/cpu_manager_state").unlink()
    write_sysfs(host.root, machine(cores=8))
    async with host.start(**CPUS):
        assert json.loads((host.root / "kubelet/cpu_manager_state").read_text())["defaultCpuSet"] == "0-7"


async def test_a_machine_that_was_not_kept_is_read_anew(host):
    write_sysfs(host.root, machine())
    async with host.start(**CPUS) as manager:
        first = await admit(manager, "u", GUARANTEED)
    kept_machine(host).write_text("junk")
    async with host.start(**CPUS, incarnation=2) as manager:
        assert await admit(manager, "u", GUARANTEED, running=True) == first
    assert kept_machine(host).read_text() != "junk"


async def test_without_a_policy_that_needs_it_no_machine_is_kept(host):
    write_sysfs(host.root, machine())
    async with host.start():
        pass
    assert not kept_machine(host).exists()
    (host.root / "kubelet/cpu_manager_state").unlink()
    (host.root / "kubelet/run/state/cpu_manager_state").unlink()
    async with host.start(**CPUS, incarnation=2) as manager:
        assert (await admit(manager, "u", GUARANTEED)).containers["a"].cpuset_cpus == "1-2"
