"""A shard on a fake runtime: pods end with their grace, leave nothing, and nobody is ended too early."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.container_manager.messages import ReleasePod, StopCounting
from actors.image_manager.messages import EnsureImage
from actors.pod_workers.executor.container_stops import MIN_GRACE_SECONDS
from actors.pod_workers.messages import DesiredPods, KillPod, PodOperation, RuntimePods, ShardPods, WantedPod
from actors.pod_workers.pod.orders import PodRemoved
from actors.shared.kube.codec import encode
from actors.shared.kube.names import CONFIG_SOURCE
from actors.shared.linux.removal import FEW_FILES
from actors.tree import RELATIONS
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesUnmounted
from proto import cri_pb2 as cri
from supervision.actor import Address
from supervision.testing.virtual_clock import VirtualClock
from tests.support.fake_cri import FakeRuntime, Fault
from tests.support.shard_harness import BEGAN, Driven, container, pod

STATIC = {"annotations": {CONFIG_SOURCE: "file"}}


def stopped_with(node: Driven) -> list[int]:
    """The seconds each container was given."""
    return [request.timeout for request in node.fake.requests_for("StopContainer")]


async def up(node: Driven, *names: str, **spec: Any) -> None:
    await node.want(pod(**spec))
    for name in names or ("a",):
        await node.until(partial(node.running, name), f"{name} running")
    await node.settled()


async def test_a_removed_pod_ends_with_its_grace_and_leaves_nothing(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await up(node, terminationGracePeriodSeconds=7)
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert stopped_with(node) == [7]
        assert (node.fake.world.containers, node.fake.world.sandboxes) == ({}, {})
        assert [one.uid for one in node.harness.sent(StopCounting)] == ["u"]
        asked = [type(question) for _, question in node.harness.asks]
        assert asked.index(UnmountVolumes) < asked.index(ReleasePod)
        assert os.listdir(tmp_path / "logs") == []
        assert os.listdir(tmp_path / "links") == []
        assert node.harness.disposed == [], "it left little"
        assert not node.shard.pods
        await node.until(lambda: node.harness.sent(ShardPods)[-1].uids == [], "nobody known")


async def test_removal_of_many_files_delays_no_other_pod(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await up(node)
        for number in range(FEW_FILES):
            node.leave_log("a", number)
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert [function.rpartition(":")[2] for function, _ in node.harness.disposed] == ["remove_traces"]
        assert os.listdir(tmp_path / "logs") == []


async def test_the_pre_stop_hook_runs_before_the_stop(tmp_path):
    hook = {"preStop": {"exec": {"command": ["true"]}}}
    async with Driven(tmp_path) as node:
        await up(node, containers=[container("a", lifecycle=hook)])
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        methods = [name for name, _ in node.fake.calls]
        assert methods.index("ExecSync") < methods.index("StopContainer")


async def test_sidecars_end_after_the_others_the_last_of_the_list_first(tmp_path):
    inits = [container("s1", restartPolicy="Always"), container("s2", restartPolicy="Always")]
    async with Driven(tmp_path) as node:
        await up(node, "a", "s1", "s2", initContainers=inits)
        names = {one.id: one.config.metadata.name for one in node.fake.world.containers.values()}
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert [names[request.container_id] for request in node.fake.requests_for("StopContainer")] == ["a", "s2", "s1"]


async def test_a_killed_pod_reports_the_reason(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        await node.harness.deliver(KillPod("u", "Evicted", "the node was low on memory", 3))
        await node.until(lambda: node.stage() == "terminated")
        assert stopped_with(node) == [3]
        assert (node.observed().reason, node.observed().message) == ("Evicted", "the node was low on memory")


@pytest.mark.parametrize(("hangs", "told"), [(True, 1), (False, 0)])
async def test_a_pod_that_outlives_its_grace_period_has_an_event(tmp_path, hangs, told):
    async with Driven(tmp_path, joined=True) as node:
        await up(node)
        for method in ("StopContainer", "StopPodSandbox") if hangs else ():
            node.fake.faults.add(method, Fault(error="UNKNOWN"))
        for _ in range(3):
            await node.harness.deliver(KillPod("u", "Evicted", "the node was low on memory", 8))
            await node.pass_time(3.0)
        events = [one.reason for one in node.harness.sent(RecordEvent)]
        assert "ExceededGracePeriod" not in events, "half of the grace more is given"
        await node.pass_time(6.0)
        events = [one.reason for one in node.harness.sent(RecordEvent)]
        assert events.count("ExceededGracePeriod") == told


async def test_an_order_with_a_shorter_grace_period_speeds_up_termination(tmp_path):
    deaf = container("a", ["sleep", "1000"], lifecycle={"preStop": {"exec": {"command": ["true"]}}})
    async with Driven(tmp_path) as node:
        await up(node, containers=[deaf], terminationGracePeriodSeconds=600)
        await node.remove()
        await node.until(lambda: stopped_with(node) == [600])
        await node.harness.deliver(KillPod("u", "Evicted", "disk", 900))
        await node.settled()
        assert stopped_with(node) == [600], "more grace is no order to hurry"
        node.fake.sleep = lambda seconds: asyncio.sleep(0)
        await node.harness.deliver(KillPod("u", "Evicted", "disk", 5))
        await node.until(lambda: node.stage() == "gone")
        assert stopped_with(node) == [600, 5]
        assert node.count_of("ExecSync") == 1, "the hook ran once"


async def test_a_pod_that_was_active_for_too_long_is_ended(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, activeDeadlineSeconds=60)
        await node.pass_time(59)
        assert node.running("a")
        await node.pass_time(1)
        await node.until(lambda: node.stage() == "terminated")
        assert node.observed().reason == "DeadlineExceeded"


async def test_a_refused_stop_is_retried(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        node.fake.faults.add("StopContainer", Fault(error="UNKNOWN", times=2))
        node.fake.faults.add("StopPodSandbox", Fault(error="UNKNOWN", times=2))
        await node.remove()
        await node.settled()
        assert (node.stage(), node.running("a")) == ("terminating", True)
        for _ in range(3):
            await node.pass_time(10)
        await node.until(lambda: node.stage() == "gone")


@pytest.mark.parametrize("refusals", [0, 2])
async def test_a_pod_with_an_unknown_container_ends_once_the_runtime_has_stopped_it(tmp_path, refusals):
    async with Driven(tmp_path, joined=True) as node:
        await up(node)
        node.containers("a")[0].state = cri.CONTAINER_UNKNOWN
        if refusals:
            node.fake.faults.add("StopContainer", Fault(error="UNKNOWN", times=refusals))
        await node.harness.deliver(KillPod("u", "Evicted", "the node was low on memory", 8))
        await node.settled()
        assert (node.stage() == "terminating") == bool(refusals)
        for _ in range(3):
            await node.pass_time(10)
        await node.until(lambda: node.stage() == "terminated")
        assert node.containers("a")[0].state == cri.CONTAINER_UNKNOWN
        assert node.observed().finished, "volumes and cgroup are gone"
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert node.containers("a") == []
        await node.pass_time(10)
        assert "u" not in node.shard.pods


async def test_volumes_that_cannot_be_unmounted_keep_the_cgroup_and_are_retried(tmp_path):
    answers = [VolumesFailed("u", "target is busy")]
    async with Driven(tmp_path) as node:
        await up(node)
        node.answer(UnmountVolumes, lambda question: answers.pop() if answers else VolumesUnmounted(question.uid))
        await node.remove()
        await node.until(lambda: not answers)
        await node.settled()
        assert not [one for _, one in node.harness.asks if isinstance(one, ReleasePod)]
        await node.pass_time(1)
        await node.until(lambda: node.stage() == "gone")


async def test_a_created_container_that_never_started_does_not_delay_the_end(tmp_path):
    async with Driven(tmp_path) as first:
        first.fake.faults.add("StartContainer", Fault(hang=True))
        await first.want(pod())
        await first.until(lambda: first.count_of("StartContainer") == 1)
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.sources()
        await second.first_look()
        await second.until(lambda: second.stage() == "gone")
        assert second.fake.world.containers == {}


async def test_a_pod_removed_while_its_image_is_pulled_does_not_wait_for_it(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(EnsureImage, lambda question: None)
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        await node.remove()
        await node.until(lambda: node.stage() == "gone")


async def test_a_pod_put_back_while_it_ends_starts_again(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        node.fake.faults.add("StopContainer", Fault(delay=0.2, times=1))
        await node.remove()
        await node.until(lambda: node.stage() == "terminating")
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 2 and node.running("a"), "the second life")
        await node.settled()
        assert node.stage() == "running"


async def test_a_pod_removed_and_put_back_at_once_is_restarted(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        node.leave_log("a", 0)
        worker = node.shard.pods["u"]
        data = worker.state.wanted.source
        worker.tell(PodRemoved())
        worker.want(pod(), data)
        await node.until(lambda: node.count_of("RunPodSandbox") == 2 and node.running("a"), "the restart")
        await node.settled()
        assert node.attempts("a")[-1] == 1
        assert node.stage() == "running"


# -- orphans ----------------------------------------------------------------------------------------------------------
async def left_behind(tmp_path, **spec: Any) -> tuple[FakeRuntime, VirtualClock]:
    """A runtime with a pod that runs, whose shard is gone."""
    clock = VirtualClock(BEGAN)
    fake = FakeRuntime(clock_ns=lambda: round(clock() * 1e9))
    async with Driven(tmp_path, fake, clock) as node:
        await up(node, terminationGracePeriodSeconds=9, **spec)
    return fake, clock


async def test_no_pod_is_an_orphan_before_all_sources_have_reported(tmp_path):
    fake, clock = await left_behind(tmp_path)
    async with Driven(tmp_path, fake, clock) as node:
        await node.first_look()
        await node.sources(ready=False)
        await node.pass_time(600)
        assert node.running("a")
        assert node.count_of("StopContainer") == 0
        assert node.harness.sent(ShardPods) == []


@pytest.mark.parametrize("listed_first", [True, False])
async def test_an_edited_static_pod_starts_although_the_api_server_has_never_answered(tmp_path, listed_first):
    fake, clock = await left_behind(tmp_path, metadata=STATIC)
    async with Driven(tmp_path, fake, clock) as node:
        if listed_first:
            await node.first_look()
        new = pod("new", metadata=STATIC, containers=[container("b")])
        await node.harness.deliver(DesiredPods([WantedPod("new", encode(new))], sources_ready=False, static_ready=True))
        await node.first_look()
        await node.until(lambda: node.stage() == "gone")
        await node.pass_time(1)
        await node.until(lambda: node.running("b"))
        assert node.containers("a") == []
        assert node.harness.sent(ShardPods) == [], "the inventory is not complete: others remove nothing by it"


async def test_a_static_pod_that_a_new_list_lacks_ends_and_one_of_the_api_server_stays(tmp_path):
    async with Driven(tmp_path) as node:
        static, other = pod("s", metadata=STATIC), pod("o", containers=[container("b")])
        await node.sources(static, other, ready=False)
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.harness.deliver(DesiredPods([], sources_ready=False, static_ready=True))
        await node.until(lambda: node.stage("s") == "gone")
        await node.pass_time(60)
        assert node.running("b")


async def test_no_pod_is_an_orphan_before_the_last_part_of_a_list_nor_if_an_earlier_one_had_it(tmp_path):
    fake, clock = await left_behind(tmp_path)
    async with Driven(tmp_path, fake, clock) as node:
        await node.first_look()
        await node.harness.deliver(DesiredPods([], sources_ready=True, more=True))
        await node.harness.deliver(DesiredPods([WantedPod("u", encode(pod()))], sources_ready=True, more=True))
        await node.harness.deliver(DesiredPods([], sources_ready=True, others=["u"]))
        await node.pass_time(600)
        assert node.running("a")
        assert node.count_of("StopContainer") == 0
        assert node.harness.sent(ShardPods)[-1].uids == ["u"]


async def test_an_orphan_ends_with_the_minimum_grace_period(tmp_path):
    fake, clock = await left_behind(tmp_path)
    async with Driven(tmp_path, fake, clock) as node:
        await node.first_look()
        await node.sources()
        await node.until(lambda: node.stage() == "gone")
        assert stopped_with(node) == [MIN_GRACE_SECONDS]
        assert (fake.world.containers, fake.world.sandboxes) == ({}, {})
        assert os.listdir(tmp_path / "logs") == []


async def test_a_pod_that_the_runtime_only_names_is_known_until_it_is_read(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.harness.deliver(RuntimePods([], node.clock(), ["slow"]))
        assert node.harness.sent(ShardPods)[-1].uids == ["slow"]
        await node.relist("slow")
        await node.until(lambda: node.harness.sent(ShardPods)[-1].uids == [], "nobody known")


async def test_pods_that_arrive_together_cause_one_report(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        before = len(node.harness.sent(ShardPods))
        for number in range(5):
            one = pod(metadata={"name": f"p{number}", "namespace": "default", "uid": f"u{number}"})
            node.shard.on_operation(PodOperation("set", one.metadata.uid, encode(one)), Address("pod_config"))
        await node.until(lambda: len(node.harness.sent(ShardPods)) > before, "told")
        told = node.harness.sent(ShardPods)[before:]
        assert len(told) == len(RELATIONS.inventory)
        assert {tuple(one.uids) for one in told} == {("u0", "u1", "u2", "u3", "u4")}


async def test_an_orphan_whose_source_comes_back_while_it_ends_starts_again(tmp_path):
    fake, clock = await left_behind(tmp_path)
    async with Driven(tmp_path, fake, clock) as node:
        fake.faults.add("StopContainer", Fault(delay=0.2, times=1))
        await node.first_look()
        await node.sources()
        await node.until(lambda: node.count_of("StopContainer") == 1)
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 2 and node.running("a"), "the second life")


# -- edits ------------------------------------------------------------------------------------------------------------
async def test_an_edited_static_pod_waits_until_the_old_one_is_over(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod("old", metadata=STATIC))
        await node.until(lambda: node.running("a"))
        await node.want(pod("new", metadata=STATIC, containers=[container("b")]))
        await node.pass_time(60)
        assert node.containers("b") == []
        await node.remove("old")
        await node.until(lambda: node.stage("old") == "gone")
        await node.pass_time(1)
        await node.until(lambda: node.running("b"))
        states = {one.state for one in node.containers("a")}
        assert cri.CONTAINER_RUNNING not in states


@pytest.mark.parametrize(("kind", "reason"), [("preStop", "FailedPreStopHook"), ("postStart", "FailedPostStartHook")])
async def test_an_event_has_neither_command_nor_output_of_a_hook(tmp_path, kind, reason):
    hook = {kind: {"exec": {"command": ["login", "--password=secret"]}}}
    async with Driven(tmp_path) as node:
        node.fake.faults.add("ExecSync", Fault(error="UNKNOWN", details="secret", times=9))
        await node.want(pod(containers=[container("a", lifecycle=hook)]))
        await node.until(lambda: bool(node.containers("a")))
        await node.settled()
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        texts = [text for told, text in node.events() if told == reason]
        assert texts
        assert set(texts) == {f"{kind[0].upper()}{kind[1:]}Hook failed"}


async def test_a_failed_post_start_hook_is_in_the_status_and_the_reason_of_the_kill(tmp_path):
    script = "echo out; echo err >&2; exit 3"
    hook = {"postStart": {"exec": {"command": ["sh", "-c", script]}}}
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[container("a", lifecycle=hook)]))
        await node.until(lambda: ("Killing", "FailedPostStartHook") in node.events())
        await node.until(lambda: node.waiting() == "PostStartHookError")
        assert node.observed().waiting["a"].message == (
            f'Exec lifecycle hook ([sh -c {script}]) for Container "a" in Pod "p_default(u)" failed'
            f" - error: command 'sh -c {script}' exited with 3: err\n, message: \"out\\nerr\\n\""
        )


async def test_the_active_deadline_counts_while_volumes_hang(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, "busy", ["v"]))
        await node.want(pod(activeDeadlineSeconds=60, volumes=[{"name": "v", "emptyDir": {}}]))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        await node.pass_time(61)
        await node.until(lambda: node.stage() == "terminated")
        assert node.observed().reason == "DeadlineExceeded"


@pytest.mark.parametrize(("host_network", "host"), [(False, "10.88.0."), (True, "192.0.2.1")])
async def test_a_hook_without_a_host_is_called_at_the_pods_address_or_on_the_hosts_network_at_the_nodes(
    tmp_path, monkeypatch, host_network, host
):
    called: list[str] = []

    async def get(url, headers, container_id, give_up):
        called.append(url.host)

    monkeypatch.setattr("actors.pod_workers.executor.hooks._http_get", get)
    hook = {"httpGet": {"port": 80}}
    async with Driven(tmp_path) as node:
        hooked = container("a", lifecycle={"postStart": hook, "preStop": hook})
        await node.want(pod(hostNetwork=host_network, containers=[hooked]))
        await node.until(lambda: len(called) == 1)
        await node.relist()
        await node.remove()
        await node.until(lambda: len(called) == 2)
    assert all(each.startswith(host) for each in called), called


async def test_a_pod_whose_image_is_missing_has_a_directory_until_it_is_gone(tmp_path: Path) -> None:
    """Without volumes, too: `reset` knows by it that the sandbox, the cgroup and the logs are this agent's."""
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        del node.fake.images.here[next(name for name in node.fake.images.here if "busybox" in name)]
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        directory = tmp_path / "root/pods/u"
        assert directory.stat().st_mode & 0o777 == 0o750
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert not directory.exists()


@pytest.mark.parametrize("fault", [Fault(unheeded=True, times=2), Fault(error="NOT_FOUND", times=2)])
async def test_a_pod_has_ended_when_its_sandbox_is_not_listed_whatever_the_removal_answers(
    tmp_path: Path, fault: Fault
) -> None:
    async with Driven(tmp_path) as node:
        await up(node)
        node.fake.faults.add("RemovePodSandbox", fault)
        await node.remove()
        await node.until(lambda: node.count_of("RemovePodSandbox") >= 1)
        await node.settled()
        assert node.stage() != "gone"
        await node.pass_time(60)
        await node.until(lambda: node.stage() == "gone")
        assert not node.fake.world.sandboxes
