"""Which containers may be swapped, and what the runtime is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.pod_workers.containers.machine import this_machine
from actors.pod_workers.containers.resources import ResourcesHost
from actors.pod_workers.containers.swap import SwapFields, allowed_swap, swap_fields
from tests.support.shard_harness import container, pod

GIB = 1 << 30
V2 = ResourcesHost(memory=8 * GIB, swap=4 * GIB, cgroup_v2=True, accounts_swap=True)
V1 = msgspec.structs.replace(V2, cgroup_v2=False)


def api_pod(*resources: dict[str, Any], **spec: Any) -> Any:
    made = [container(f"c{number}", resources=one) for number, one in enumerate(resources)]
    metadata = {"annotations": {"kubernetes.io/config.source": "api"}}
    return pod(metadata=metadata, containers=made, **spec)


def allowed(*resources: dict[str, Any], behavior: str = "LimitedSwap", **spec: Any) -> int:
    """Of the first container."""
    wanted = api_pod(*resources, **spec)
    return allowed_swap(wanted, wanted.spec.containers[0], behavior, V2)


HALF = {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}


def test_a_burstable_container_may_swap_in_the_proportion_of_its_request():
    assert allowed(HALF) == GIB
    assert allowed({"requests": {"memory": "1Gi"}}) == GIB // 2
    assert allowed({"requests": {"memory": "3"}}) == 1, "rounded down"


@pytest.mark.parametrize(
    ("resources", "spec"),
    [
        ([{}], {}),  # BestEffort
        ([{"limits": {"memory": "1Gi", "cpu": "1"}}], {}),  # Guaranteed
        ([{"limits": {"memory": "1Gi"}}, HALF], {}),  # its request is its limit
        ([{"requests": {"cpu": "1"}}], {}),  # asks for no memory
        ([{"requests": {"memory": "9Gi"}}], {}),  # more than there is
        ([HALF], {"priority": 2_000_000_000}),
        ([HALF], {"priority": 2_000_001_000, "priorityClassName": "system-node-critical"}),
    ],
)
def test_containers_that_may_not_swap(resources, spec):
    assert allowed(*resources, **spec) == 0


def test_a_static_pod_is_critical_and_never_swapped():
    wanted = pod(
        containers=[container("c", resources=HALF)], metadata={"annotations": {"kubernetes.io/config.source": "file"}}
    )
    assert allowed_swap(wanted, wanted.spec.containers[0], "LimitedSwap", V2) == 0


@pytest.mark.parametrize("behavior", ["", "NoSwap"])
def test_without_limited_swap_no_container_may_swap(behavior):
    assert allowed(HALF, behavior=behavior) == 0


def test_the_runtime_gets_the_swap_limit_for_the_nodes_cgroup_version():
    wanted = api_pod(HALF, {"requests": {"memory": "1Gi"}})
    first, second = wanted.spec.containers
    assert swap_fields(wanted, first, "LimitedSwap", V2) == SwapFields(unified={"memory.swap.max": str(GIB)})
    assert swap_fields(wanted, first, "", V2) == SwapFields(unified={"memory.swap.max": "0"})
    assert swap_fields(wanted, first, "", V1) == SwapFields(memory_swap_bytes=4 * GIB)
    assert swap_fields(wanted, second, "", V1) == SwapFields()


def test_on_cgroup_v1_a_pod_level_limit_also_bounds_the_swap_of_a_container_without_one():
    wanted = api_pod({}, {"limits": {"memory": "1Gi"}}, resources={"limits": {"memory": "2Gi"}})
    found = [swap_fields(wanted, one, "", V1).memory_swap_bytes for one in wanted.spec.containers]
    assert found == [2 * GIB, GIB]


@pytest.mark.parametrize("machine", [V1, V2])
def test_no_swap_limit_is_set_without_swap_accounting(machine):
    wanted = api_pod(HALF)
    blind = msgspec.structs.replace(machine, accounts_swap=False)
    assert swap_fields(wanted, wanted.spec.containers[0], "LimitedSwap", blind) == SwapFields()


def test_swap_and_its_controller_are_found_on_v2(tmp_path: Path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\nSwapTotal: 4 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/system.slice/agent.service\n")
    own = tmp_path / "sys/fs/cgroup/system.slice/agent.service"
    own.mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("memory\n")
    assert this_machine(str(tmp_path)) == ResourcesHost(memory=8192, swap=4096, cgroup_v2=True)
    (own / "memory.swap.max").write_text("max\n")
    assert this_machine(str(tmp_path)) == ResourcesHost(memory=8192, swap=4096, cgroup_v2=True, accounts_swap=True)


def test_swap_and_its_controller_are_found_on_v1(tmp_path: Path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\nSwapTotal: 0 kB\n")
    (tmp_path / "sys/fs/cgroup/memory").mkdir(parents=True)
    assert this_machine(str(tmp_path)) == ResourcesHost(memory=8192)
    (tmp_path / "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes").write_text("")
    assert this_machine(str(tmp_path)) == ResourcesHost(memory=8192, accounts_swap=True)


def test_the_machine_decides_whether_files_need_labels(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\n")
    assert not this_machine(str(tmp_path)).selinux
    (tmp_path / "sys/fs/selinux").mkdir(parents=True)
    (tmp_path / "sys/fs/selinux/enforce").write_text("1")
    assert this_machine(str(tmp_path)).selinux
