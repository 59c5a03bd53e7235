"""The static CPU policy on a made-up machine: admission, the shared CPUs of others, restarts, ends."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.cpu.state import StateError
from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    ContainerPrepared,
    CountRunningPod,
    PodAdmitted,
    PodRejected,
    PrepareContainer,
    ReleasePod,
    StopCounting,
)
from actors.pod_workers.messages import ShardPods
from actors.shared import state_files
from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.kube.codec import encode
from supervision.repeated_warnings import RepeatedWarnings
from tests.support.cri_configs import TRAP, container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault
from tests.support.hardware_pods import asking, pod_of
from tests.support.machines import machine, write_sysfs
from tests.support.managed_host import Host, admit, pod

SMT = machine(cores=4, threads=2)
STATIC: dict[str, Any] = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}
WORKER = "pod_workers/worker/{}"


@pytest.fixture
def smt(host: Host) -> Host:
    write_sysfs(host.root, SMT)
    return host


def two(uid: str = "u") -> bytes:
    """A pod that gets two CPUs, and beside it a container that does not."""
    return encode(pod_of(asking("a", "2"), asking("b", "100m"), uid=uid))


def state(host: Host) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((host.root / "kubelet/cpu_manager_state").read_text())
    return found


OWN = ContainerAllocation(cpuset_cpus="1,5", exclusive_cpus=True)


async def prepared(manager: Any, uid: str, container: str) -> ContainerAllocation:
    answer = await manager.deliver(PrepareContainer(uid, container))
    assert isinstance(answer, ContainerPrepared)
    return answer.allocation


async def test_a_guaranteed_pod_gets_its_own_cpus_and_others_get_the_rest(smt):
    async with smt.start(**STATIC) as manager:
        await admit(manager, "old", pod())
        assert (await prepared(manager, "old", "c")).cpuset_cpus == "0-7"
        answer = await admit(manager, "u", two())
        assert isinstance(answer, PodAdmitted)
        assert answer.prepare
        shared = ContainerAllocation(cpuset_cpus="0,2-4,6-7")
        assert answer.containers == {"a": OWN, "b": shared}
        assert await prepared(manager, "u", "a") == OWN
        assert await prepared(manager, "u", "debugger") == shared
        assert await prepared(manager, "old", "c") == shared
        assert state(smt)["entries"] == {"u": {"a": "1,5"}}
        assert state(smt)["defaultCpuSet"] == "0,2-4,6-7"


async def test_the_cpu_quota_of_a_pod_with_cpus_of_its_own_is_not_enforced_also_after_a_restart(smt):
    smt.dress("/kubepods/podu")
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        assert smt.read("/kubepods/podu", "cpu.cfs_quota_us") == "-1"
    async with smt.start(**STATIC) as manager:
        await manager.deliver(CountRunningPod("u", two()))
        assert smt.read("/kubepods/podu", "cpu.cfs_quota_us") == "-1"
    gates = {"DisableCPUQuotaWithExclusiveCPUs": False}
    async with smt.start(**STATIC, featureGates=gates) as manager:
        answer = await admit(manager, "u", two(), running=True)
        assert answer.containers["a"] == ContainerAllocation(cpuset_cpus="1,5")
        assert smt.read("/kubepods/podu", "cpu.cfs_quota_us") == "210000"


async def test_a_new_container_manager_gives_a_running_pod_what_it_has(smt):
    async with smt.start(**STATIC) as manager:
        first = await admit(manager, "u", two())
    async with smt.start(**STATIC) as manager:
        assert await admit(manager, "u", two(), running=True) == first
        assert (await admit(manager, "v", two("v"), running=False)).containers["a"].cpuset_cpus == "2,6"


async def test_a_new_container_manager_that_finds_no_state_gives_a_running_pod_cpus_of_its_own_again(smt):
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        kept = state(smt)
    (smt.root / "kubelet/cpu_manager_state").unlink()
    async with smt.start(**STATIC) as manager:
        assert "entries" not in state(smt)
        await manager.deliver(CountRunningPod("u", two()))
        assert state(smt) == kept
        await manager.deliver(CountRunningPod("u", two()))
        assert state(smt) == kept
        await manager.deliver(StopCounting("u"))
        assert "entries" not in state(smt)


@pytest.mark.parametrize("end", [StopCounting("u"), ReleasePod("u")])
async def test_the_cpus_of_a_pod_that_ends_are_shared_again(smt, end):
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        await manager.deliver(end)
        assert "entries" not in state(smt)
        assert state(smt)["defaultCpuSet"] == "0-7"


async def test_the_cpus_of_a_pod_that_ended_unseen_are_shared_once_every_worker_has_reported_its_pods(smt):
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        await admit(manager, "v", two("v"))
        await admit(manager, "w", two("w"))
    async with smt.start(**STATIC) as manager:
        await manager.deliver(CountRunningPod("v", two("v")))
        await manager.deliver(ShardPods(WORKER.format(0), 2, ["w"]))
        assert sorted(state(smt)["entries"]) == ["u", "v", "w"]
        await manager.deliver(ShardPods(WORKER.format(1), 2, []))
        assert sorted(state(smt)["entries"]) == ["v", "w"]


async def test_a_pod_without_free_cpus_is_refused_with_the_kubelets_message(smt):
    async with smt.start(**STATIC) as manager:
        both = encode(pod_of(asking("a", "4"), asking("b", "4")))
        assert await admit(manager, "u", both) == PodRejected(
            "u",
            "UnexpectedAdmissionError",
            "Allocate failed due to not enough cpus available to satisfy request: requested=4, available=3, which is "
            "unexpected",
        )
        assert state(smt)["defaultCpuSet"] == "0-7"
    async with smt.start(**STATIC, cpuManagerPolicyOptions={"full-pcpus-only": "true"}) as manager:
        answer = await admit(manager, "u", encode(pod_of(asking("a", "3"))))
        assert (answer.reason, answer.message) == (
            "SMTAlignmentError",
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
        )


async def test_a_pod_that_another_check_refuses_keeps_no_cpus(smt):
    async with smt.start(**STATIC) as manager:
        answer = await admit(manager, "u", encode(pod_of(asking("a", "2", memory="64Gi"))))
        assert answer.reason == "OutOfmemory"
        assert "entries" not in state(smt)


async def test_a_running_pod_without_cpus_is_not_ended_for_them(smt):
    async with smt.start(**STATIC) as manager:
        assert isinstance(await admit(manager, "u", encode(pod_of(asking("a", "7")))), PodAdmitted)
        late = encode(pod_of(asking("a", "2"), uid="v"))
        answer = await admit(manager, "v", late, running=True)
        assert isinstance(answer, PodAdmitted)
        assert await prepared(manager, "v", "a") == ContainerAllocation(cpuset_cpus="0")


async def test_a_pod_withdrawn_while_it_waits_keeps_no_cpus(smt):
    smt.dress("/kubepods/podgone")
    async with smt.start(**STATIC) as manager:
        waiting = manager.post(AdmitPod("u", two()))
        await manager.settle()
        await manager.deliver(StopCounting("u"))
        await manager.advance(5)
        assert isinstance(await waiting, AdmissionFailed)
        assert "entries" not in state(smt)


# -- a full disk -------------------------------------------------------------------------------------------------------
def full(path: Path | str, data: bytes, *, sync: bool = True) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_on_a_full_disk_pods_wait_for_cpus_of_their_own_and_give_them_back(smt, monkeypatch):
    async with smt.start(**STATIC) as manager:
        await admit(manager, "other", pod())
        await admit(manager, "old", encode(pod_of(asking("a", "6"), uid="old")))
        with monkeypatch.context() as patch:
            patch.setattr(state_files, "write_private", full)
            answer = await admit(manager, "u", encode(pod_of(asking("a", "1"))))
            assert isinstance(answer, AdmissionFailed)
            assert "No space left on device" in answer.message
            assert (await prepared(manager, "other", "c")).cpuset_cpus == "0,4"
            await manager.deliver(StopCounting("old"))
            assert (await prepared(manager, "other", "c")).cpuset_cpus == "0-7"
            assert list(state(smt)["entries"]) == ["old"]
        assert (await admit(manager, "u", two())).containers["a"] == OWN
        assert list(state(smt)["entries"]) == ["u"]


async def test_on_a_full_disk_a_new_container_manager_continues_from_the_files(smt, monkeypatch):
    async with smt.start(**STATIC) as manager:
        first = await admit(manager, "u", two())
    monkeypatch.setattr(state_files, "write_private", full)
    async with smt.start(**STATIC) as manager:
        assert await admit(manager, "u", two(), running=True) == first


async def test_a_restarted_container_manager_continues_despite_damaged_or_missing_files(smt, caplog):
    async with smt.start(**STATIC) as manager:
        first = await admit(manager, "u", two())
    (smt.root / "kubelet/cpu_manager_state").write_text("junk")
    async with smt.start(**STATIC, incarnation=2) as manager:
        assert await admit(manager, "u", two(), running=True) == first
    assert list(state(smt)["entries"]) == ["u"]
    (smt.root / "kubelet/cpu_manager_state").write_text("junk")
    with pytest.raises(StateError):
        async with smt.start(**STATIC):
            pass


# -- reconciliation ----------------------------------------------------------------------------------------------------
async def run(fake: FakeRuntime, uid: str, name: str = "c") -> str:
    """A running container of that pod."""
    client = fake.client()
    sandbox = sandbox_config(uid=uid)
    sandbox_id = await client.run_pod_sandbox(sandbox)
    config = container_config(sandbox, TRAP, name)
    config.labels["io.kubernetes.container.name"] = name
    config.labels["io.kubernetes.pod.uid"] = uid
    container = await client.create_container(sandbox_id, config, sandbox)
    await client.start_container(container)
    return container


def cpus(fake: FakeRuntime, container: str) -> str:
    return str(fake.world.containers[container].resources.cpuset_cpus)


async def test_running_containers_leave_the_cpus_that_others_get_and_come_back(smt):
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start(**STATIC) as manager:
        await admit(manager, "old", pod())
        old, foreign = await run(fake, "old"), await run(fake, "foreign")
        await manager.advance(12)
        assert cpus(fake, old) == "0-7"
        await admit(manager, "u", two())
        own = await run(fake, "u", "a")
        await manager.advance(12)
        assert (cpus(fake, old), cpus(fake, own), cpus(fake, foreign)) == ("0,2-4,6-7", "1,5", "")
        told = len(fake.requests_for("UpdateContainerResources"))
        await manager.advance(60)
        assert len(fake.requests_for("UpdateContainerResources")) == told
        await manager.deliver(StopCounting("u"))
        await manager.advance(12)
        assert cpus(fake, old) == "0-7"


async def test_exclusive_cpus_that_a_plugin_of_the_runtime_changes_at_creation_are_left_alone(smt):
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        await prepared(manager, "u", "a")
        await prepared(manager, "u", "b")
        own, shared = await run(fake, "u", "a"), await run(fake, "u", "b")
        fake.world.containers[own].resources.cpuset_cpus = "3"
        await manager.advance(60)
        assert (cpus(fake, own), cpus(fake, shared)) == ("3", "0,2-4,6-7")
    async with smt.start(**STATIC, incarnation=2) as manager:
        await admit(manager, "u", two(), running=True)
        await manager.advance(12)
        assert cpus(fake, own) == "1,5"


async def test_a_container_of_a_pod_that_was_released_and_came_back_is_moved(smt):
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start(**STATIC) as manager:
        await admit(manager, "u", two())
        await prepared(manager, "u", "a")
        await manager.deliver(StopCounting("u"))
        await admit(manager, "u", two())
        own = await run(fake, "u", "a")
        await manager.advance(12)
        assert cpus(fake, own) == "1,5"


async def test_a_container_that_the_runtime_does_not_move_is_tried_again(smt):
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start(**STATIC) as manager:
        await admit(manager, "old", pod())
        old = await run(fake, "old")
        fake.faults.add("UpdateContainerResources", Fault(error="UNKNOWN"))
        await manager.advance(12)
        assert cpus(fake, old) == ""
        fake.faults.clear()
        await manager.advance(12)
        assert cpus(fake, old) == "0-7"


async def test_no_warning_is_kept_of_containers_that_are_gone(smt, monkeypatch):
    kept: set[str] = set()
    monkeypatch.setattr(RepeatedWarnings, "warn", lambda self, key, text: kept.add(key))
    monkeypatch.setattr(RepeatedWarnings, "resolved", lambda self, key: kept.discard(key))
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start(**STATIC) as manager:
        await admit(manager, "old", pod())
        old = await run(fake, "old")
        fake.faults.add("UpdateContainerResources", Fault(error="UNKNOWN"))
        await manager.advance(12)
        assert f"cpus: {old}" in kept
        del fake.world.containers[old]
        await manager.advance(12)
        assert f"cpus: {old}" not in kept


async def test_the_none_policy_makes_no_calls_to_the_runtime_and_is_recorded_in_the_file(smt):
    fake = FakeRuntime()
    smt.runtime = fake.client()
    async with smt.start() as manager:
        answer = await admit(manager, "u", two())
        assert (answer.containers, answer.prepare) == ({}, False)
        await manager.advance(60)
        assert fake.calls == []
    text = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
    assert (smt.root / "kubelet/cpu_manager_state").read_text() == text


# -- topology ----------------------------------------------------------------------------------------------------------
NUMA = machine(sockets=2, nodes=2, cores=4)


@pytest.mark.parametrize(
    ("policy", "scope", "containers", "given"),
    [
        ("single-numa-node", "container", ["2", "3"], ["1-2", "4-6"]),
        ("single-numa-node", "pod", ["2", "2"], ["4-5", "6-7"]),
        ("single-numa-node", "pod", ["2", "3"], None),
        ("single-numa-node", "container", ["5"], None),
        ("restricted", "container", ["5"], ["1,4-7"]),
        ("best-effort", "pod", ["2", "3"], ["1-2", "3-5"]),
        ("none", "container", ["2", "3"], ["1-2", "3-5"]),
    ],
)
async def test_cpus_are_aligned_by_the_topology_policy(host, policy, scope, containers, given):
    write_sysfs(host.root, NUMA)
    options = {"topologyManagerPolicy": policy, "topologyManagerScope": scope}
    async with host.start(**STATIC, **options) as manager:
        asked = pod_of(*(asking(str(number), cpu) for number, cpu in enumerate(containers)))
        answer = await admit(manager, "u", encode(asked))
        if given is None:
            assert answer == PodRejected(
                "u", "TopologyAffinityError", "Resources cannot be allocated with Topology locality"
            )
            assert state(host)["defaultCpuSet"] == "0-7"
        else:
            assert [one.cpuset_cpus for one in answer.containers.values()] == given


# -- refused starts --------------------------------------------------------------------------------------------------
async def test_a_damaged_file_ends_the_container_manager_with_its_name(smt):
    async with smt.start(**STATIC):
        pass
    path = smt.root / "kubelet/cpu_manager_state"
    path.write_text(path.read_text().replace("0-7", "0-6"))
    with pytest.raises(StateError, match=r"checkpoint is corrupted, please drain this node and delete the CPU manager"):
        async with smt.start(**STATIC):
            pass


async def test_cpus_of_a_kubelet_before_1_18_stay_with_their_containers(smt: Host) -> None:
    """Its file names containers by ids alone."""
    fake = FakeRuntime()
    smt.runtime = fake.client()
    container = await run(fake, "u", "a")
    path = smt.root / "kubelet/cpu_manager_state"
    path.parent.mkdir(exist_ok=True)
    kept = {"policyName": "static", "defaultCpuSet": "0,2-4,6-7", "entries": {container: "1,5"}, "checksum": 0}
    path.write_text(json.dumps(kept))
    async with smt.start(**STATIC) as manager:
        assert state(smt)["entries"] == {"u": {"a": "1,5"}}
        answer = await admit(manager, "u", two(), running=True)
        assert answer.containers["a"] == OWN
        assert (await admit(manager, "v", two("v"))).containers["a"].cpuset_cpus != OWN.cpuset_cpus
    await fake.close()
