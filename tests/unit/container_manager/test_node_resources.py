"""What the machine has, and what is left of it for pods."""

import os
from typing import Any

from actors.container_manager.node_resources import (
    allocatable,
    capacity,
    enforced,
    most_pids,
    most_pods,
    online_cpus,
    unallocatable_memory,
)
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

TOTAL = {"cpu": 4000, "memory": 1000 << 20, "ephemeral-storage": 1000, "pods": 110, "hugepages-2Mi": 20 << 20}
RESERVED: dict[str, Any] = {
    "kubeReserved": {"cpu": "500m", "memory": "100Mi"},
    "systemReserved": {"cpu": "250m", "memory": "50Mi", "ephemeral-storage": "10"},
    "evictionHard": {"memory.available": "30Mi", "nodefs.available": "10%", "pid.available": "5%"},
}


def test_allocatable_is_less_the_reservations_the_thresholds_and_the_huge_pages():
    assert allocatable(TOTAL, KubeletConfiguration(**RESERVED)) == {
        "cpu": 3250,
        "memory": 800 << 20,
        "ephemeral-storage": 890,
        "pods": 110,
        "hugepages-2Mi": 20 << 20,
    }


def test_a_soft_threshold_takes_nothing_also_without_a_grace_period():
    soft = {"memory.available": "90Mi"}
    config = KubeletConfiguration(evictionSoft=soft, evictionSoftGracePeriod={"memory.available": "0s"}, **RESERVED)
    assert allocatable(TOTAL, config)["memory"] == 800 << 20
    assert unallocatable_memory(config, 1 << 30) == 180 << 20


def test_whole_cpus_that_are_kept_count_in_place_of_what_is_reserved_of_cpu():
    kept = KubeletConfiguration(reservedSystemCPUs="0,2-3", **RESERVED)
    assert allocatable({**TOTAL, "cpu": 8000}, kept)["cpu"] == 5000
    assert allocatable(TOTAL, kept)["memory"] == 800 << 20


def test_thresholds_are_left_out_where_a_flag_asks_for_it():
    assert allocatable(TOTAL, KubeletConfiguration(**RESERVED), with_thresholds=False)["memory"] == 830 << 20


def test_the_cgroup_of_all_pods_has_the_thresholds_too():
    found = enforced(TOTAL, KubeletConfiguration(**RESERVED))

    assert (found["cpu"], found["memory"]) == (3250, 850 << 20)
    assert enforced(TOTAL, KubeletConfiguration(enforceNodeAllocatable=["none"], **RESERVED)) == TOTAL


def test_nothing_falls_below_zero():
    greedy = KubeletConfiguration(kubeReserved={"memory": "1Ti", "cpu": "99"})

    assert allocatable(TOTAL, greedy)["memory"] == 0
    assert enforced(TOTAL, greedy)["cpu"] == 0


def test_pods_per_core_lowers_the_most_pods_and_never_raises_it():
    assert most_pods(KubeletConfiguration(), 2) == 110
    assert most_pods(KubeletConfiguration(podsPerCore=10), 2) == 20
    assert most_pods(KubeletConfiguration(podsPerCore=100), 2) == 110


def test_this_machine_is_measured(tmp_path):
    found = capacity(KubeletConfiguration(), str(tmp_path))

    assert found["cpu"] == 1000 * (os.cpu_count() or 0)
    assert found["memory"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert found["ephemeral-storage"] > 0


def test_all_cpus_that_are_online_count_also_those_that_the_agent_may_not_use(tmp_path):
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-5,64-127\n")

    assert len(online_cpus(str(tmp_path))) == 70


def test_there_are_as_many_process_ids_as_the_lower_of_the_kernels_limits(tmp_path):
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    assert most_pids(str(tmp_path)) is None
    (tmp_path / "proc/sys/kernel/pid_max").write_text("4194304\n")
    (tmp_path / "proc/sys/kernel/threads-max").write_text("60000\n")

    assert most_pids(str(tmp_path)) == 60000


def test_without_isolation_the_node_has_no_ephemeral_storage(tmp_path):
    config = KubeletConfiguration(localStorageCapacityIsolation=False, evictionHard={"nodefs.available": "10%"})
    found = capacity(config, str(tmp_path))

    assert "ephemeral-storage" not in found
    assert "ephemeral-storage" not in allocatable(found, config)
