"""The container manager on a made-up host: cgroup directories without a kernel behind them."""

import errno
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.config_controller.messages import CgroupDriverLearnt
from actors.container_manager.cgroups.cgroup_lock import CgroupLock
from actors.container_manager.cgroups.node_allocatable import ENFORCE_SECONDS, SERVICE
from actors.container_manager.cgroups.runtime_cgroup_driver import NoRuntimeAnswer
from actors.container_manager.messages import (
    AdmissionFailed,
    AdmitPod,
    CountRunningPod,
    GetNodeResources,
    PodAdmitted,
    PodRejected,
    PodReleased,
    ReleasePod,
    StopCounting,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_tree import CgroupTree
from supervision.actor import AskError, DisposableError
from supervision.process_messages import ServiceState
from tests.support.managed_host import CORES, admit, pod


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (pod(), "/kubepods/besteffort/podu1"),
        (pod(cpu="100m"), "/kubepods/burstable/podu1"),
        (pod(limits={"cpu": "1", "memory": "1Gi"}), "/kubepods/podu1"),
    ],
)
async def test_a_pods_cgroup_is_in_the_tier_of_its_qos_class_in_every_hierarchy(host, data, path):
    async with host.start() as manager:
        assert await admit(manager, "u1", data) == PodAdmitted("u1", path)

    assert len(host.has(path.lstrip("/"))) == 4


async def test_a_guaranteed_pods_limits_are_written(host):
    host.dress("/kubepods/podu1")
    async with host.start(podPidsLimit=99) as manager:
        await admit(manager, "u1", pod(limits={"cpu": "500m", "memory": "64Mi"}))

    assert host.read("/kubepods/podu1", "cpu.shares") == "512"
    assert host.read("/kubepods/podu1", "cpu.cfs_quota_us") == "50000"
    assert host.read("/kubepods/podu1", "memory.limit_in_bytes") == str(64 << 20)
    assert host.read("/kubepods/podu1", "pids.max") == "99"


async def test_all_pods_together_are_limited_to_the_unreserved_resources(host):
    host.dress("/kubepods")
    async with host.start(kubeReserved={"memory": "1Gi", "cpu": "100m"}) as manager:
        await manager.settle()

    assert host.read("/kubepods", "memory.limit_in_bytes") == str(3 << 30)
    assert host.read("/kubepods", "cpu.shares") == str((CORES * 1000 - 100) * 1024 // 1000)


async def test_all_pods_together_have_the_process_ids_that_are_not_reserved(host):
    (host.root / "proc/sys/kernel").mkdir(parents=True)
    for name in ("pid_max", "threads-max"):
        (host.root / "proc/sys/kernel" / name).write_text("30000\n")
    host.dress("/kubepods")
    async with host.start(kubeReserved={"pid": "1000"}, systemReserved={"pid": "500"}) as manager:
        await manager.settle()
        assert "pid" not in (await manager.deliver(GetNodeResources())).capacity

    assert host.read("/kubepods", "pids.max") == "28500"


async def test_status_is_told_while_the_limits_of_all_pods_cannot_be_written(host, monkeypatch):
    def fail(_tree, path, _limits):
        raise CgroupError(errno.EROFS, "Read-only file system", path)

    with monkeypatch.context() as patch:
        patch.setattr(CgroupTree, "apply", fail)
        async with host.start() as manager:
            await manager.settle()
            (told,) = (one for one in manager.sent(ServiceState) if one.service == SERVICE)
            assert told.text.startswith("the limits of all pods are not enforced: ")
            assert "Read-only file system" in told.text
            patch.undo()
            await manager.advance(2 * ENFORCE_SECONDS)
            assert [one.text for one in manager.sent(ServiceState) if one.service == SERVICE] == [told.text, ""]


async def test_enforced_and_failed_reservations_are_events_of_the_node(host):
    host.dress("/system")
    reserved = {"systemReserved": {"cpu": "1"}, "systemReservedCgroup": "/system"}
    reserved |= {"kubeReserved": {"cpu": "1"}, "kubeReservedCgroup": "/none"}
    enforced = ["system-reserved", "kube-reserved"]
    async with host.start(standalone=False, enforceNodeAllocatable=enforced, **reserved) as manager:
        await manager.settle()
        events = manager.sent(RecordEvent, "api_clients/event_client")
    assert [(event.reason, event.message) for event in events[:2]] == [
        ("NodeAllocatableEnforced", "Updated Node Allocatable limit across pods"),
        ("NodeAllocatableEnforced", "Updated limits on system reserved cgroup /system"),
    ]
    assert events[2].reason == "FailedNodeAllocatableEnforcement"
    assert events[2].message.startswith('Failed to enforce Kube Reserved Cgroup Limits on "/none": ')


async def test_the_burstable_tier_has_the_shares_of_its_pods(host):
    host.dress("/kubepods/burstable")
    async with host.start() as manager:
        await admit(manager, "u1", pod(cpu="250m"))
        await admit(manager, "u2", pod(cpu="250m"))
        await admit(manager, "u3", pod(limits={"cpu": "1", "memory": "1Gi"}))
        await manager.advance(0.1)
        assert host.read("/kubepods/burstable", "cpu.shares") == "512"

        await manager.deliver(StopCounting("u2"))
        await manager.advance(0.1)
        assert host.read("/kubepods/burstable", "cpu.shares") == "256"


async def test_memory_that_pods_request_is_reserved_from_lower_qos_tiers(host):
    for cgroup in ("/kubepods/burstable", "/kubepods/besteffort"):
        host.dress(cgroup)
    reserving = {"qosReserved": {"memory": "50%"}, "featureGates": {"QOSReserved": True}}
    async with host.start(**reserving, systemReserved={"memory": "1Gi"}) as manager:
        await manager.advance(1.0)
        assert host.read("/kubepods/burstable", "memory.limit_in_bytes") == str(3 << 30)
        await admit(manager, "u1", pod(limits={"cpu": "1", "memory": "1Gi"}))
        await admit(manager, "u2", pod(memory="512Mi"))
        await manager.advance(1.0)
        assert host.read("/kubepods/burstable", "memory.limit_in_bytes") == str((3 << 30) - (512 << 20))
        assert host.read("/kubepods/besteffort", "memory.limit_in_bytes") == str((3 << 30) - (768 << 20))

    async with host.start(qosReserved=reserving["qosReserved"]) as manager:
        await manager.advance(1.0)
        assert host.read("/kubepods/burstable", "memory.limit_in_bytes") == "-1"


async def test_a_tier_is_not_held_to_less_memory_than_it_uses(host):
    host.dress("/kubepods/besteffort")
    used = host.root / "sys/fs/cgroup/memory/kubepods/besteffort/memory.usage_in_bytes"
    used.write_text(str(5 << 30))
    async with host.start(qosReserved={"memory": "50%"}, featureGates={"QOSReserved": True}) as manager:
        await manager.advance(1.0)
        assert host.read("/kubepods/besteffort", "memory.limit_in_bytes") == str(5 << 30)
        used.write_text("0")
        await manager.advance(70.0)
        assert host.read("/kubepods/besteffort", "memory.limit_in_bytes") == str(4 << 30)


async def test_a_pod_that_does_not_fit_is_refused_with_the_kubelets_message(host):
    async with host.start(maxPods=2) as manager:
        await admit(manager, "u1", pod(memory="3Gi"))

        memory = await admit(manager, "u2", pod(memory="2Gi"))
        cpu = await admit(manager, "u3", pod(cpu="1000"))
        await admit(manager, "u4", pod())
        pods = await admit(manager, "u5", pod())

    used = f"used: {3 << 30}, capacity: {4 << 30}"
    assert memory == PodRejected(
        "u2", "OutOfmemory", f"Node didn't have enough resource: memory, requested: {2 << 30}, {used}"
    )
    assert cpu.reason == "OutOfcpu"
    assert (
        cpu.message == f"Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: {CORES * 1000}"
    )
    assert pods == PodRejected(
        "u5", "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"
    )
    assert host.has("kubepods/besteffort/podu5") == []


async def test_a_port_of_the_host_is_given_once(host):
    async with host.start() as manager:
        await admit(manager, "u1", pod(ports=[80]))
        refused = await admit(manager, "u2", pod(ports=[443, 80]))
        await manager.deliver(StopCounting("u1"))
        after = await admit(manager, "u2", pod(ports=[443, 80]))

    assert (refused.reason, after.uid) == ("NodePorts", "u2")
    assert "free ports" in refused.message
    assert isinstance(after, PodAdmitted)


async def test_asking_again_is_answered_the_same_and_counts_once(host):
    async with host.start(maxPods=1) as manager:
        first = await admit(manager, "u1", pod(memory="3Gi", ports=[80]))

        assert await admit(manager, "u1", pod(memory="3Gi", ports=[80])) == first


async def test_a_running_pod_is_never_refused(host):
    async with host.start(maxPods=1) as manager:
        await admit(manager, "u1", pod(memory="3Gi", ports=[80]))

        assert isinstance(await admit(manager, "u2", pod(memory="3Gi", ports=[80]), running=True), PodAdmitted)


async def test_after_a_restart_a_new_pod_waits_until_the_running_ones_are_reported(host):
    async with host.start() as manager:
        await admit(manager, "u1", pod(memory="3Gi"))

    async with host.start() as manager:
        newcomer = manager.post(AdmitPod("u2", pod(memory="3Gi")))
        await manager.settle()
        assert not newcomer.done()

        await admit(manager, "u1", pod(memory="3Gi"), running=True)
        assert (await newcomer).reason == "OutOfmemory"


async def test_an_earlier_admitted_pod_is_counted_without_checks(host):
    async with host.start(maxPods=1) as manager:
        await manager.deliver(CountRunningPod("u0", pod()))
        confined = {"appArmorProfile": {"type": "RuntimeDefault"}}
        assert await manager.deliver(CountRunningPod("u1", pod(securityContext=confined))) is None
        assert manager.sent(PodAdmitted) == []
        assert (await manager.deliver(GetNodeResources())).pods == 2

        assert (await admit(manager, "u2", pod())).reason == "OutOfpods"


async def test_a_cgroup_without_a_pod_delays_admission_until_the_workers_report(host):
    host.dress("/kubepods/podgone")
    async with host.start() as manager:
        newcomer = manager.post(AdmitPod("u2", pod()))
        await manager.deliver(ShardPods("pod_workers/worker/0", 2, []))
        assert not newcomer.done()
        await manager.deliver(ShardPods("pod_workers/worker/1", 2, []))

        assert isinstance(await newcomer, PodAdmitted)


async def test_admission_waits_for_the_workers_a_second_at_most(host):
    host.dress("/kubepods/podgone")
    async with host.start() as manager:
        newcomer = manager.post(AdmitPod("u2", pod()))
        await manager.advance(0.9)
        assert not newcomer.done()
        await manager.advance(0.2)

        assert isinstance(await newcomer, PodAdmitted)


async def test_admission_does_not_wait_for_a_pod_reported_as_not_running(host):
    host.dress("/kubepods/besteffort/podu1")
    async with host.start() as manager:
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)


async def test_admission_does_not_wait_on_a_node_without_pods(host):
    async with host.start() as manager:
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)


async def test_released_pods_leave_no_cgroup_in_any_hierarchy(host):
    async with host.start() as manager:
        await admit(manager, "u1", pod(cpu="1m"))
        (host.root / "sys/fs/cgroup/systemd/kubepods/burstable/podu1/container").mkdir()

        assert await manager.deliver(ReleasePod("u1")) == PodReleased("u1")
        assert await manager.deliver(ReleasePod("u1")) == PodReleased("u1")

    assert host.has("kubepods/burstable/podu1") == []
    assert host.has("kubepods/burstable") != []


async def test_a_cgroup_still_in_use_is_reported_and_tried_again_alone(host):
    async with host.start() as manager:
        await admit(manager, "u1", pod(cpu="1m"))
        host.dress("/kubepods/burstable/podu1")  # files keep the directories, as processes do
        answer = await manager.deliver(ReleasePod("u1"))
        assert "still in use" in answer.message

        host.undress("/kubepods/burstable/podu1")
        await manager.advance(1)
        assert host.has("kubepods/burstable/podu1") == []


async def told(manager, *uids):
    await manager.deliver(ShardPods("pod_workers/worker/0", 2, list(uids)))
    await manager.deliver(ShardPods("pod_workers/worker/1", 2, []))


async def test_a_cgroup_without_a_pod_is_removed_after_every_worker_has_reported_and_a_grace_period(host):
    for uid in ("lost", "kept"):
        (host.root / f"sys/fs/cgroup/pids/kubepods/burstable/pod{uid}").mkdir(parents=True)
    async with host.start() as manager:
        await manager.advance(300)
        assert host.has("kubepods/burstable/podlost")

        await told(manager, "kept")
        await manager.advance(9)
        assert host.has("kubepods/burstable/podlost")
        await manager.advance(2)

    assert host.has("kubepods/burstable/podlost") == []
    assert host.has("kubepods/burstable/podkept") != []


async def test_a_cgroup_without_a_pod_but_with_processes_stays(host, caplog):
    directory = host.root / "sys/fs/cgroup/pids/kubepods/podother"
    directory.mkdir(parents=True)
    (directory / "cgroup.procs").write_text("1\n")
    async with host.start() as manager:
        await told(manager)
        await manager.advance(200)

    assert directory.exists()
    assert sum("left alone" in record.message for record in caplog.records) == 1


async def test_a_second_agent_with_the_same_cgroups_removes_nothing(host, caplog):
    (host.root / "sys/fs/cgroup/pids/kubepods/podlost").mkdir(parents=True)
    lock = CgroupLock(str(host.root))
    assert lock.acquire("/kubepods")
    async with host.start() as second:
        await told(second)
        await second.advance(200)
    lock.release()

    assert host.has("kubepods/podlost")
    assert any("cgroupRoot" in record.message for record in caplog.records)


async def test_a_pod_forgotten_by_its_worker_is_not_counted(host):
    async with host.start(maxPods=1) as manager:
        await admit(manager, "u1", pod())
        await told(manager, "u1")
        await told(manager)

        assert isinstance(await admit(manager, "u2", pod()), PodAdmitted)


async def test_the_runtimes_cgroup_driver_wins_and_is_passed_on(host):
    async with host.start(driver="cgroupfs", answer="systemd") as manager:
        answer = await admit(manager, "a-b", pod(cpu="1m"))

    assert answer.cgroup_parent == "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice"
    assert manager.sent(CgroupDriverLearnt, to="config_controller") == [CgroupDriverLearnt("systemd")]
    started = [body[0] for method, body in host.calls if method == "StartTransientUnit"]
    assert started == [
        "kubepods.slice",
        "kubepods-burstable.slice",
        "kubepods-besteffort.slice",
        "kubepods-burstable-poda_b.slice",
    ]


@pytest.mark.parametrize("answer", ["", DisposableError("Died", "x"), AskError("the fork server did not answer")])
async def test_a_runtime_that_reports_no_driver_leaves_the_configured_one(host, answer):
    async with host.start(driver="systemd", answer=answer) as manager:
        assert (await admit(manager, "u1", pod())).cgroup_parent.endswith(".slice")
        assert manager.sent(CgroupDriverLearnt) == []


async def test_the_cgroup_driver_of_a_late_runtime_is_requested_again(host):
    answers: list[str | type[Exception]] = [NoRuntimeAnswer, NoRuntimeAnswer, "systemd"]

    def ask(**_: object) -> str:
        found = answers.pop(0)
        if isinstance(found, str):
            return found
        raise found

    async with host.start(driver="cgroupfs", answer=ask) as manager:
        await manager.settle()
        assert (await admit(manager, "u1", pod())).cgroup_parent == "/kubepods/besteffort/podu1"
        for uid in ("u2", "u3"):
            answer = await admit(manager, uid, pod())
            assert (
                answer.cgroup_parent == f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{uid}.slice"
            )
        assert manager.sent(CgroupDriverLearnt, to="config_controller") == [CgroupDriverLearnt("systemd")]
        assert answers == []


@pytest.mark.parametrize("booted", [False, True])
async def test_a_managed_runtime_has_the_configured_driver_if_systemd_runs(host, booted):
    if booted:
        (host.root / "run/systemd/system").mkdir(parents=True)
    async with host.start(driver="systemd", managed=True) as manager:
        path = (await admit(manager, "u1", pod())).cgroup_parent

    assert path.startswith("/kubepods.slice/") is booted
    assert manager.sent(CgroupDriverLearnt) == ([] if booted else [CgroupDriverLearnt("cgroupfs")])


async def test_a_slice_is_stopped_when_its_pod_is_released(host):
    async with host.start(driver="systemd") as manager:
        await admit(manager, "u1", pod())
        await manager.deliver(ReleasePod("u1"))

    assert host.calls[-1] == ("StopUnit", ["kubepods-besteffort-podu1.slice", "replace"])
    assert host.has("kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu1.slice") == []


async def test_the_tree_can_be_put_below_another_cgroup(host):
    async with host.start(cgroupRoot="/agents/two") as manager:
        assert (await admit(manager, "u1", pod())).cgroup_parent == "/agents/two/kubepods/besteffort/podu1"


async def test_without_cgroups_per_qos_no_cgroup_is_made(host):
    async with host.start(cgroupsPerQOS=False, enforceNodeAllocatable=[]) as manager:
        assert await admit(manager, "u1", pod()) == PodAdmitted("u1", "")
        assert await manager.deliver(ReleasePod("u1")) == PodReleased("u1")

    assert host.has("kubepods") == []


async def test_a_failure_to_create_a_cgroup_rejects_no_pod(host):
    async with host.start() as manager:
        await manager.settle()
        tier = host.root / "sys/fs/cgroup/pids/kubepods/besteffort"
        tier.rmdir()
        tier.write_text("a file in the way")
        answer = await admit(manager, "u1", pod(ports=[80]))
        tier.unlink()
        other = await admit(manager, "u2", pod(ports=[80]))

    assert isinstance(answer, AdmissionFailed)
    assert isinstance(other, PodAdmitted)  # it did not stay in the ledger


@pytest.mark.parametrize(("uid", "data"), [("..", pod()), ("a/b", pod()), ("u1", b"{"), ("u1", pod(cpu="lots"))])
async def test_data_that_is_not_a_pod_is_refused(host, uid, data):
    async with host.start() as manager:
        assert (await admit(manager, uid, data)).reason == "UnexpectedAdmissionError"


async def test_the_nodes_resources_are_reported(host):
    hard = {"memory.available": "512Mi"}
    async with host.start(systemReserved={"memory": "1Gi"}, podsPerCore=1, evictionHard=hard) as manager:
        await admit(manager, "u1", pod(cpu="250m"))
        answer = await manager.deliver(GetNodeResources())

    assert answer.capacity["memory"] == 4 << 30
    assert answer.allocatable["memory"] == (3 << 30) - (512 << 20)
    assert answer.pods_memory == 3 << 30, "eviction comes before its limit"
    assert answer.capacity["pods"] == CORES
    assert answer.requested == {"cpu": 250}
    assert (answer.pods, answer.cgroup_driver, answer.cgroup_version) == (1, "cgroupfs", 1)


@pytest.mark.parametrize(("incarnation", "joined", "said"), [(1, True, 1), (2, True, 0), (1, False, 0)])
async def test_enforcement_of_limits_is_reported_once_as_a_node_event(host, incarnation, joined, said):
    manager = host.start()
    manager.port.incarnation = incarnation
    manager.port.context = msgspec.structs.replace(manager.port.context, standalone=not joined, node_name="n1")
    async with manager:
        await manager.deliver(GetNodeResources())
        await manager.advance(200)
        events = manager.sent(RecordEvent, "api_clients/event_client")
        assert [(event.name, event.reason) for event in events] == [("n1", "NodeAllocatableEnforced")] * said


async def test_processes_in_no_cgroup_are_gathered_each_minute_and_what_is_left_is_reported_once(host, caplog):
    manager, asked = host.start(systemCgroups="/system/", cgroupRoot="/"), []
    left = ["process 7: No space left on device"]
    function = "actors.container_manager.cgroups.system_cgroups:gather_host"

    def gather(**arguments: Any) -> list[str]:
        asked.append(arguments)
        return left

    manager.disposables[function] = gather
    async with manager:
        await manager.advance(0.1)
        assert asked == [{"cgroup": "/system", "host": str(host.root)}]
        await manager.advance(150)
        assert len(asked) == 3
    said = [line for line in caplog.messages if "process 7: No space left" in line]
    assert len(said) == 1


async def test_without_the_field_no_process_is_moved(host):
    manager = host.start()
    moves: list[object] = []
    manager.disposables["actors.container_manager.cgroups.system_cgroups:gather_host"] = lambda **asked: moves.append(
        asked
    )
    async with manager:
        await manager.advance(150)
    assert moves == []
