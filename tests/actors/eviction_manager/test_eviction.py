"""The eviction manager on a made-up node: who is evicted, once, and what is told."""

from __future__ import annotations

from typing import Any

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, NodePressure
from actors.container_manager.messages import CONTAINER_MANAGER, NodeEvictions
from actors.eviction_manager import writable_layers
from actors.eviction_manager.messages import GetPodDisks, PreemptPods
from actors.image_manager.messages import RemoveUnusedImages
from actors.pod_workers.messages import KillPod, RemoveDeadContainers
from actors.shared.config.fields.duration import Duration
from actors.shared.cri.errors import Unavailable
from actors.status_manager.messages import GetActivePods
from supervision.actor import AskError, DisposableError
from supervision.process_messages import Hello, ServiceState
from supervision.protocol import FORK_SERVER

from .made_up_node import CONTAINER_ID, DISKS, MEASURE, MadeUpNode, killed, told

MESSAGE = (
    "The node was low on resource: memory. Threshold quantity: 100Ki, available: 50Ki. "
    "Container main was using 700Ki, request is 0, has larger consumption of memory. "
)
DISK: dict[str, Any] = {"evictionHard": {"nodefs.available": "100"}}


async def test_the_pod_that_uses_most_memory_is_evicted_with_the_kubelets_message(node: MadeUpNode) -> None:
    node.add("small", memory_kib=20)
    node.add("big", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        await manager.settle()
        assert manager.sent(KillPod) == [KillPod("big", "Evicted", MESSAGE, 1, disruption=MESSAGE)]
        assert manager.sent(NodePressure, to=HEARTBEAT_CLIENT) == [NodePressure(memory=True)]
        assert manager.sent(NodeEvictions, to=CONTAINER_MANAGER)[-1] == NodeEvictions(["MemoryPressure"], ["big"])
        (node_event,), (pod_event,) = manager.sent(RecordEvent, to=EVENT_CLIENT), told(manager)
        assert (node_event.kind, node_event.reason, node_event.message) == (
            "Node", "EvictionThresholdMet", "Attempting to reclaim memory",
        )  # fmt: skip
        assert (pod_event.uid, pod_event.type, pod_event.reason, pod_event.message) == (
            "big", "Warning", "Evicted", MESSAGE,
        )  # fmt: skip
        assert pod_event.annotations == {
            "starved_resource": "memory",
            "offending_containers": "main",
            "offending_containers_usage": "700Ki",
        }


async def test_a_round_evicts_one_pod_and_the_next_round_starts_once_it_has_ended(node: MadeUpNode) -> None:
    for uid, size in (("a", 700), ("b", 600), ("c", 5)):
        node.add(uid, memory_kib=size)
    node.set_free(50)
    async with node.start() as manager:
        await manager.advance(25.0)
        assert killed(manager) == ["a"]
        assert len(manager.sent(KillPod)) > 5  # its worker may have been restarted
        node.stop("a")
        await manager.advance(2.0)
        assert killed(manager) == ["a", "b"]
        node.set_free(500)
        node.stop("b")
        await manager.advance(60.0)
        assert killed(manager) == ["a", "b"]
        assert manager.sent(NodeEvictions)[-1] == NodeEvictions(["MemoryPressure"], [])


async def test_a_pod_that_does_not_end_delays_the_next_eviction_by_half_a_minute(node: MadeUpNode) -> None:
    node.add("stuck", memory_kib=700)
    node.add("next", memory_kib=600)
    node.set_free(50)
    async with node.start() as manager:
        await manager.advance(29.0)
        assert killed(manager) == ["stuck"]
        await manager.advance(3.0)
        assert killed(manager) == ["stuck", "next"]


async def test_memory_is_watched_while_a_pod_does_not_end(node: MadeUpNode) -> None:
    node.add("stuck", memory_kib=700)
    node.add("next", memory_kib=600)
    node.set_free(50)
    async with node.start() as manager:
        await manager.advance(5.0)
        assert killed(manager) == ["stuck"]
        node.set_free(150)
        await manager.advance(60.0)
        node.set_free(90)
        await manager.advance(0.6)
        assert killed(manager) == ["stuck", "next"]


async def test_memory_below_its_threshold_between_two_rounds_starts_an_eviction_at_once(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.set_free(150)
    async with node.start() as manager:
        await manager.advance(1.0)
        assert killed(manager) == []
        node.set_free(90)
        await manager.advance(0.3)
        assert killed(manager) == ["eater"]


async def test_a_soft_threshold_waits_for_its_grace_period_and_gives_the_pod_its_own(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700, terminationGracePeriodSeconds=20)
    node.set_free(50)
    soft: dict[str, Any] = {
        "evictionHard": {},
        "evictionSoft": {"memory.available": "100Ki"},
        "evictionSoftGracePeriod": {"memory.available": "30s"},
        "evictionMaxPodGracePeriod": 60,
    }
    async with node.start(**soft) as manager:
        await manager.advance(25.0)
        assert manager.sent(NodePressure)[-1] == NodePressure(memory=True)
        assert killed(manager) == []
        await manager.advance(6.0)
        assert [(order.uid, order.grace_seconds) for order in manager.sent(KillPod)[:1]] == [("eater", 20)]


@pytest.mark.parametrize("signal", ["nodefs.available", "nodefs.inodesFree"])
async def test_the_node_is_cleaned_up_before_a_pod_is_evicted(node: MadeUpNode, signal: str) -> None:
    node.add("writer")
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    async with node.start(evictionHard={signal: "100"}) as manager:

        def freed(_: RemoveUnusedImages) -> None:
            node.disks = {"nodefs": [1, 500, 1000, 500, 1000]}

        manager.answer(RemoveUnusedImages, freed)
        await manager.advance(11.0)
        assert [type(question) for _, question in manager.asks if isinstance(question, RemoveDeadContainers)]
        assert killed(manager) == []


async def test_the_runtime_has_to_free_the_space_of_removed_containers_before_a_pod_is_evicted(
    node: MadeUpNode,
) -> None:
    node.add("writer")
    node.disks, node.kept = {"nodefs": [1, 50, 1000, 50, 1000]}, {"nodefs": [1, 500, 1000, 500, 1000]}
    async with node.start(**DISK) as manager:
        await manager.advance(11.0)
        assert killed(manager) == []


async def test_a_pod_is_evicted_from_a_full_disk_when_the_clean_up_frees_too_little(node: MadeUpNode) -> None:
    node.add("idle")
    node.add("writer")
    size = {"used_bytes": 5, "inodes_used": 1}
    node.measured = {
        "idle": {"volumes": {}, "logs": {"main": size}, "own": size},
        "writer": {"volumes": {}, "logs": {"main": {"used_bytes": 2048, "inodes_used": 1}}, "own": size},
    }
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    async with node.start(**DISK) as manager:
        await manager.advance(1.0)
        assert killed(manager) == ["writer"]
        assert "Container main was using 2Ki, request is 0" in manager.sent(KillPod)[0].message
        assert manager.sent(NodePressure)[-1] == NodePressure(disk=True)


async def test_no_pod_is_evicted_from_a_full_disk_while_the_writable_layers_are_unknown(
    node: MadeUpNode,
) -> None:
    node.add("writer")
    size = {"used_bytes": 5, "inodes_used": 1}
    node.measured = {"writer": {"volumes": {}, "logs": {"main": size}, "own": size}}
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    node.runtime_error = Unavailable("ListContainerStats", "UNAVAILABLE", "away")
    async with node.start(**DISK) as manager:
        await manager.advance(15.0)
        assert killed(manager) == []
        node.runtime_error = None
        await manager.advance(11.0)
        assert killed(manager) == ["writer"]


@pytest.mark.parametrize("others", [1, 20])
async def test_a_shim_that_hangs_delays_evictions_from_a_full_disk_and_does_not_prevent_them(
    node: MadeUpNode, monkeypatch, others: int
) -> None:
    monkeypatch.setattr(writable_layers, "STATS_SECONDS", 0.05)
    for uid in ("stuck", "writer", *(f"other-{number}" for number in range(others))):
        node.add(uid)
        node.pods[uid] = (node.pods[uid][0], {"main": f"id-of-{uid}"})
    none = {"used_bytes": 0, "inodes_used": 0}
    node.measured = {uid: {"volumes": {}, "logs": {}, "own": none} for uid in node.pods}
    node.layers, node.hanging_shim = {"id-of-writer": 4096}, "stuck"
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    async with node.start(**DISK) as manager:
        await manager.wait(lambda: killed(manager) == ["writer"])


async def test_the_disk_of_the_images_is_watched_where_the_runtime_has_it(node: MadeUpNode) -> None:
    node.disks = {"imagefs": [2, 50, 1000, 50, 1000], "nodefs": [1, 500, 1000, 500, 1000]}
    async with node.start(evictionHard={"imagefs.available": "100"}) as manager:
        await manager.advance(1.0)
        assert any(isinstance(question, RemoveUnusedImages) for _, question in manager.asks)
        assert manager.sent(NodePressure)[-1] == NodePressure(disk=True)


async def test_a_disk_that_hangs_does_not_delay_an_eviction_for_memory(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        manager.disposables[DISKS] = DisposableError("OSError", "a disk that hangs")
        await manager.advance(11.0)
        assert killed(manager) == ["eater"]


async def test_a_pod_over_a_storage_limit_is_evicted_without_any_threshold(node: MadeUpNode) -> None:
    node.add("over", volumes=[{"name": "cache", "emptyDir": {"sizeLimit": "1Ki"}}])
    node.add("free", volumes=[{"name": "cache", "emptyDir": {}}])
    size = {"used_bytes": 2048, "inodes_used": 1}
    none = {"used_bytes": 0, "inodes_used": 0}
    node.measured = {"over": {"volumes": {"cache": size}, "logs": {}, "own": none}}
    async with node.start(evictionHard={}) as manager:
        await manager.advance(70.0)
        message = 'Usage of EmptyDir volume "cache" exceeds the limit "1Ki". '
        assert manager.sent(KillPod)[0] == KillPod("over", "Evicted", message, 1)
        assert killed(manager) == ["over"]


async def test_logs_and_layers_over_a_limit_are_found_in_each_round_and_volumes_once_in_their_period(
    node: MadeUpNode,
) -> None:
    limits = {"limits": {"ephemeral-storage": "2Ki"}}
    for uid in ("layer", "logs", "volume"):
        node.add(uid, volumes=[{"name": "v", "emptyDir": {}}], containers=[{"name": uid, "resources": limits}])
        node.pods[uid] = (node.pods[uid][0], {uid: f"id-of-{uid}"})
    size, none = {"used_bytes": 4096, "inodes_used": 1}, {"used_bytes": 0, "inodes_used": 0}
    node.measured = {uid: {"volumes": {}, "logs": {}, "own": none} for uid in node.pods}
    async with node.start(evictionHard={}) as manager:
        await manager.advance(12.0)
        assert killed(manager) == []
        node.layers = {"id-of-layer": 4096}
        await manager.advance(11.0)
        assert killed(manager) == ["layer"]
        node.measured["logs"] = {"volumes": {}, "logs": {"logs": size}, "own": none}
        node.measured["volume"] = {"volumes": {"v": size}, "logs": {}, "own": none}
        await manager.advance(11.0)
        assert killed(manager) == ["layer", "logs"]
        assert node.volumes_measured == 1
        await manager.advance(60.0)
        assert killed(manager) == ["layer", "logs", "volume"]


async def test_a_page_uses_what_was_measured_for_the_limits_and_delays_no_eviction(node: MadeUpNode) -> None:
    limited = [{"name": "v", "emptyDir": {"sizeLimit": "2Ki"}}]
    node.add("limited", volumes=limited)
    node.add("free")
    size, none = {"used_bytes": 4096, "inodes_used": 1}, {"used_bytes": 0, "inodes_used": 0}
    node.measured = {uid: {"volumes": {"v": none}, "logs": {}, "own": none} for uid in node.pods}
    places = [[uid, f"/pods/{uid}", f"/logs/{uid}"] for uid in node.pods]
    async with node.start(evictionHard={}) as manager:
        await manager.advance(12.0)
        assert node.walked == ["limited"]
        page = (await manager.deliver(GetPodDisks(places))).pods
        assert {uid: one["volumes"] for uid, one in page.items()} == {"limited": {"v": none}, "free": {"v": none}}
        await manager.deliver(GetPodDisks(places))
        assert node.walked == ["limited", "free"]
        node.measured["limited"] = {"volumes": {"v": size}, "logs": {}, "own": none}
        await manager.advance(80.0)  # a period later, though a page was asked for meanwhile
        assert node.walked == ["limited", "free", "limited"]
        assert killed(manager) == ["limited"]
        await manager.deliver(GetPodDisks(places))
        assert node.walked == ["limited", "free", "limited", "free"]
        manager.disposables[MEASURE] = DisposableError("OSError", "a disk that hangs")
        await manager.advance(120.0)
        assert "a disk that hangs" in (await manager.deliver(GetPodDisks(places))).error


async def test_storage_limits_are_not_enforced_without_local_storage_isolation(node: MadeUpNode) -> None:
    node.add("over", volumes=[{"name": "cache", "emptyDir": {"sizeLimit": "1Ki"}}])
    async with node.start(evictionHard={}, localStorageCapacityIsolation=False) as manager:
        await manager.advance(130.0)
        assert killed(manager) == []


async def test_a_standalone_node_enforces_no_storage_limits(node: MadeUpNode) -> None:
    node.add("over", volumes=[{"name": "cache", "emptyDir": {"sizeLimit": "1Ki"}}])
    size, none = {"used_bytes": 2048, "inodes_used": 1}, {"used_bytes": 0, "inodes_used": 0}
    node.measured = {"over": {"volumes": {"cache": size}, "logs": {}, "own": none}}
    async with node.start(evictionHard={}, standalone=True) as manager:
        await manager.advance(130.0)
        assert killed(manager) == []


async def test_evictions_and_preemptions_are_counted_by_their_cause(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.add("small")
    async with node.start() as manager:
        await manager.deliver(PreemptPods(["small"], "cpu"))
        node.set_free(50)
        await manager.advance(11.0)
        samples = manager.actor.metrics.snapshot("x", 1).samples
        counted = {(one.name, *one.labels.values()): one.value for one in samples}
        assert counted["kubelet_evictions", "memory.available"] == 1
        assert counted["kubelet_preemptions", "cpu"] == 1


async def test_an_order_to_preempt_ends_nothing_while_the_pods_are_unknown(node: MadeUpNode) -> None:
    node.add("a")
    async with node.start() as manager:
        manager.answer(GetActivePods, AskError("no answer"))
        await manager.deliver(PreemptPods(["a"], "cpu"))
        assert killed(manager) == []


async def test_no_pod_is_evicted_while_the_pods_are_unknown_and_no_critical_pod_ever(node: MadeUpNode) -> None:
    node.add("critical", memory_kib=900, priority=2_000_000_000)
    node.set_free(50)
    async with node.start() as manager:
        await manager.advance(30.0)
        assert killed(manager) == []
        assert len(manager.sent(RecordEvent)) > 1  # it is tried each round


async def test_an_observation_that_fails_changes_no_condition(node: MadeUpNode) -> None:
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    async with node.start(**DISK) as manager:
        await manager.settle()
        manager.disposables[DISKS] = DisposableError("OSError", "a disk that hangs")
        await manager.advance(30.0)
        assert manager.sent(NodePressure) == [NodePressure(disk=True)]


async def test_a_restarted_actor_gets_the_conditions_again(node: MadeUpNode) -> None:
    async with node.start() as manager:
        await manager.settle()
        manager.clear()
        await manager.deliver(Hello(HEARTBEAT_CLIENT, 2))
        await manager.deliver(Hello(CONTAINER_MANAGER, 2))
        assert manager.sent(NodePressure, to=HEARTBEAT_CLIENT) == [NodePressure()]
        assert manager.sent(NodeEvictions, to=CONTAINER_MANAGER) == [NodeEvictions([])]


async def test_a_standalone_node_is_cleaned_up_without_events_or_conditions(node: MadeUpNode) -> None:
    node.disks = {"nodefs": [1, 50, 1000, 50, 1000]}
    async with node.start(standalone=True, **DISK) as manager:
        await manager.advance(1.0)
        assert any(isinstance(question, RemoveUnusedImages) for _, question in manager.asks)
        assert not manager.sent(NodePressure)
        assert not manager.sent(RecordEvent)


async def test_preempted_pods_have_their_own_grace_period(node: MadeUpNode) -> None:
    node.add("a", terminationGracePeriodSeconds=40)
    node.add("b")
    async with node.start() as manager:
        order = PreemptPods(["a"], "cpu")
        await manager.deliver(order)
        await manager.deliver(order)
        text = "Preempted in order to admit critical pod"
        disrupted = "Pod was preempted by Kubelet to accommodate a critical pod."
        assert manager.sent(KillPod) == [KillPod("a", "Preempting", text, 40, disruption=disrupted)]
        (event,) = told(manager)
        assert (event.uid, event.type, event.reason, event.message) == ("a", "Warning", "Preempting", text)
        assert manager.sent(NodeEvictions)[-1] == NodeEvictions([], ["a"])


async def test_a_preempted_pod_that_ends_slowly_does_not_delay_an_eviction(node: MadeUpNode) -> None:
    node.add("preempted")
    node.add("eater", memory_kib=700)
    async with node.start() as manager:
        await manager.deliver(PreemptPods(["preempted"], "memory"))
        node.set_free(50)
        await manager.advance(11.0)
        assert killed(manager) == ["preempted", "eater"]


async def test_for_process_ids_the_pod_with_most_processes_is_evicted(node: MadeUpNode) -> None:
    kernel = node.root / "proc/sys/kernel"
    kernel.mkdir(parents=True)
    for name in ("pid_max", "threads-max"):
        (kernel / name).write_text("1000\n")
    (node.root / "proc/loadavg").write_text("0.0 0.0 0.0 1/950 4321\n")
    for uid, pids in (("threads", [7]), ("forks", [8, 9, 10])):
        node.add(uid)
        inside = node.root / f"sys/fs/cgroup/memory/kubepods/besteffort/pod{uid}/{CONTAINER_ID}"
        (inside / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
    async with node.start(evictionHard={"pid.available": "10%"}) as manager:
        await manager.advance(1.0)
        assert killed(manager) == ["forks"]


async def test_status_reports_a_pressure_until_it_is_over(node: MadeUpNode) -> None:
    node.set_free(50)
    async with node.start(evictionPressureTransitionPeriod=Duration.parse("30s"), standalone=True) as manager:
        await manager.advance(1.0)
        (told,) = [one for one in manager.sent(ServiceState, FORK_SERVER) if one.text]
        assert (told.service, told.text) == ("MemoryPressure", "memory.available is 0 MiB (5%), below 0 MiB")
        node.set_free(500)
        await manager.advance(60.0)
        assert [bool(one.text) for one in manager.sent(ServiceState, FORK_SERVER)] == [
            True, False, False, True, False,
        ]  # fmt: skip
