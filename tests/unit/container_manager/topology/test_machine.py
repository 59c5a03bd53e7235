"""The machine is read from sysfs."""

from __future__ import annotations

import pytest

from actors.container_manager.topology.machine import read_machine
from tests.support.machines import GIB, machine, reread

SHAPES = [
    machine(),
    machine(sockets=2, nodes=2, cores=4, threads=2),
    machine(sockets=1, nodes=4, cores=2, threads=2, caches=2),
    machine(sockets=2, nodes=8, cores=2, memory=4 * GIB, huge_pages={"hugepages-2Mi": 64 << 20, "hugepages-1Gi": GIB}),
    machine(sockets=2, nodes=1, cores=2),
]


@pytest.mark.parametrize("made", SHAPES)
def test_the_machine_is_read_from_sysfs_unchanged(tmp_path, made):
    assert reread(tmp_path, made) == made


def test_a_kernel_without_numa_has_one_node_with_all_memory(tmp_path):
    cpu = tmp_path / "sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    (cpu / "online").write_text("0-1\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1024 kB\n")
    found = read_machine(str(tmp_path))
    assert [(one.id, one.core, one.socket, one.node, one.cache) for one in found.cpus] == [
        (0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0),
    ]
    assert found.node_ids == (0,)
    assert found.nodes[0].memory == {"memory": 1024 * 1024}


def test_an_offline_cpu_is_no_cpu(tmp_path):
    reread(tmp_path, machine(cores=4, threads=2))
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-2,4-7\n")
    (tmp_path / "sys/devices/system/cpu/cpu7/topology/thread_siblings_list").write_text("7\n")
    found = read_machine(str(tmp_path))
    assert found.online == frozenset({0, 1, 2, 4, 5, 6, 7})
    assert found.by_id[7].core == 7


def test_caches_without_a_number_are_distinguished_by_their_lowest_cpu(tmp_path):
    reread(tmp_path, machine(cores=4, caches=2))
    for number, shared in enumerate(["0-1", "0-1", "2-3", "2-3"]):
        index = tmp_path / f"sys/devices/system/cpu/cpu{number}/cache/index3"
        (index / "id").unlink()
        (index / "shared_cpu_list").write_text(shared)
    assert [cpu.cache for cpu in read_machine(str(tmp_path)).cpus] == [0, 0, 2, 2]


def test_this_machine_can_be_read():
    found = read_machine()
    assert found.online
    assert found.nodes[0].memory["memory"] > 0
    assert found.threads_per_core >= 1
