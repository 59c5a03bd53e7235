"""What the host's own processes are held to."""

from typing import Any

import pytest

from actors.container_manager.cgroups.reserved_cgroups import failure, reserved_cgroups
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_limits import CgroupLimits

RESERVED: dict[str, Any] = {
    "systemReserved": {"cpu": "500m", "memory": "1Gi", "pid": "1000", "ephemeral-storage": "1Gi"},
    "systemReservedCgroup": "/system.slice",
    "kubeReserved": {"memory": "100Mi"},
    "kubeReservedCgroup": "/kube/agent",
}


def found(*entries, driver="cgroupfs"):
    config = KubeletConfiguration(enforceNodeAllocatable=list(entries), **RESERVED)
    return [rest for _, *rest in reserved_cgroups(config, driver)]


def test_no_reservation_is_enforced_by_default():
    assert found("pods") == found("none") == []


def test_cpu_memory_and_process_ids_are_limited_to_the_reservation():
    assert found("pods", "system-reserved", "kube-reserved") == [
        ["systemReservedCgroup", "/system.slice", CgroupLimits(cpu_shares=512, memory_bytes=1 << 30, pids=1000)],
        ["kubeReservedCgroup", "/kube/agent", CgroupLimits(memory_bytes=100 << 20)],
    ]


def test_a_compressible_entry_limits_cpu_only():
    assert found("system-reserved-compressible") == [
        ["systemReservedCgroup", "/system.slice", CgroupLimits(cpu_shares=512)]
    ]


@pytest.mark.parametrize(("name", "path"), [("/system.slice", "/system.slice"), ("/a/b", "/a.slice/a-b.slice")])
def test_with_systemd_the_cgroup_is_a_slice(name, path):
    config = KubeletConfiguration(
        enforceNodeAllocatable=["system-reserved"], systemReserved={"cpu": "1"}, systemReservedCgroup=name
    )
    assert [where for _, _, where, _ in reserved_cgroups(config, "systemd")] == [path]


@pytest.mark.parametrize("policy", ["None", "TieredReservation"])
def test_with_memory_qos_the_kernel_keeps_their_memory_whatever_the_policy_for_pods(policy):
    config = KubeletConfiguration(
        enforceNodeAllocatable=["kube-reserved"],
        featureGates={"MemoryQoS": True},
        memoryReservationPolicy=policy,
        **RESERVED,
    )
    (found,) = reserved_cgroups(config, "cgroupfs")
    assert found[3] == CgroupLimits(memory_bytes=100 << 20, memory_min=100 << 20)


@pytest.mark.parametrize(
    ("entry", "what"),
    [("kube-reserved", "Kube Reserved"), ("system-reserved-compressible", "System Reserved Compressible")],
)
def test_an_event_names_the_entry_that_cannot_be_enforced(entry, what):
    assert failure(entry, "/a", "gone") == f'Failed to enforce {what} Cgroup Limits on "/a": gone'
