"""A pod that ends its shard again and again is left alone; the other pods go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.messages import CONTAINER_MANAGER, CountRunningPod, StopCounting
from actors.pod_config.messages import PodQuarantined
from actors.pod_workers.executor import performers
from actors.pod_workers.messages import KillPod, PodOperation, ShardPods
from actors.pod_workers.phases import effects, pod_actions
from actors.pod_workers.pod.runtime import alive
from actors.pod_workers.quarantine import POLICY
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.codec import encode
from actors.status_manager.messages import STATUS_MANAGER
from supervision.process_messages import DiedOnInput, Hello
from supervision.quarantine import Journal, content_key
from supervision.testing.virtual_clock import VirtualClock
from tests.support.fake_cri import FakeRuntime
from tests.support.shard_harness import BEGAN, NAME, Driven, container, pod

BAD, GOOD = pod("bad", "bad"), pod("good", "good", containers=[container("g")])


class Poison(Exception):
    """What a decision on the bad pod raises."""


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = pod_actions.compute_actions

    def compute(facts, **more):
        wanted = facts.pod
        if wanted.metadata.uid == "bad" and wanted.spec.containers[0].image == "busybox":
            raise Poison
        return decide(facts, **more)

    monkeypatch.setattr(pod_actions, "compute_actions", compute)


async def lives(home, fake: FakeRuntime, clock: VirtualClock, *orders: KillPod) -> None:
    async with Driven(home, fake, clock) as node:
        await node.sources(BAD, GOOD)
        for order in orders:
            await node.harness.deliver(order)
        await node.settled()


async def poisoned(home) -> Driven:
    """The incarnation after the last death."""
    clock = VirtualClock(BEGAN)
    fake = FakeRuntime(clock_ns=lambda: round(clock() * 1e9))
    for _ in range(POLICY.crashes):
        with pytest.raises(Poison):
            await lives(home, fake, clock)
    return Driven(home, fake, clock)


async def test_after_three_deaths_a_pod_is_set_aside_and_the_others_run(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.until(lambda: node.running("g"))
        assert (node.waiting("a", "bad"), node.observed("bad").reason) == ("CrashLoopBackOff", "CrashLoop")
        assert node.harness.sent(PodQuarantined) == [PodQuarantined("bad", POLICY.crashes)]
        node.harness.clear()
        await node.harness.deliver(Hello(STATUS_MANAGER, 2))
        assert node.observed("bad").reason == "CrashLoop", "said again to who has forgotten"


async def test_each_crash_bounded_by_the_quarantine_is_reported_to_the_supervisor(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        assert node.harness.sent(DiedOnInput) == [DiedOnInput()]
    async with Driven(tmp_path, node.fake, node.clock) as node:
        assert node.harness.sent(DiedOnInput) == [], "the last incarnation did not die"


async def test_a_pod_in_quarantine_is_reported_with_what_the_runtime_has_of_it(tmp_path):
    """The status manager changes nothing before a worker has seen the runtime: its status would stay as it was."""
    async with Driven(tmp_path) as node:
        await node.want(BAD)
        await node.until(lambda: node.running("a"))
        fake, clock = node.fake, node.clock
    blame(tmp_path, clock)
    async with Driven(tmp_path, fake, clock) as node:
        await node.sources(BAD)
        assert node.observed("bad").runtime is None
        await node.first_look()
        assert node.observed("bad").sandbox_ready
        assert [ran.name for ran in alive(reported_runtime(node))] == ["a"]
        await node.end("a")
        await node.relist("bad")
        assert alive(reported_runtime(node)) == []


def reported_runtime(node: Driven) -> PodRuntime:
    runtime = node.observed("bad").runtime
    assert runtime is not None
    return runtime


async def test_a_pod_in_quarantine_without_anything_in_the_runtime_is_reported_as_such(tmp_path):
    clock = VirtualClock(BEGAN)
    blame(tmp_path, clock)
    async with Driven(tmp_path, clock=clock) as node:
        await node.sources(GOOD)
        await node.first_look()
        await node.want(BAD)
        runtime = reported_runtime(node)
        assert runtime.at > 0
        assert (runtime.sandboxes, runtime.containers) == ([], [])


async def test_a_pod_whose_work_raises_is_quarantined_like_one_whose_decision_raises(tmp_path, monkeypatch):
    def admit(run, effect):
        if run.state.uid == "bad":
            raise Poison
        return admitted(run, effect)

    admitted = performers.PERFORMS[effects.Admit]
    monkeypatch.setitem(performers.PERFORMS, effects.Admit, admit)
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.until(lambda: node.running("g"))
        assert node.observed("bad").reason == "CrashLoop"


async def test_a_pod_in_quarantine_stays_in_the_inventory(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.first_look()
        assert node.harness.sent(ShardPods)[-1].uids == ["bad", "good"]


async def test_a_pod_in_quarantine_is_counted_as_long_as_its_containers_run(tmp_path):
    """What it holds is taken, also for a container manager that knows no pods."""
    async with Driven(tmp_path) as node:
        await node.want(BAD)
        await node.until(lambda: node.running("a"))
        fake, clock = node.fake, node.clock
    blame(tmp_path, clock)
    async with Driven(tmp_path, fake, clock) as node:
        await node.sources(BAD)
        await node.first_look()
        assert node.observed("bad").reason == "CrashLoop"
        assert counted(node) == ["bad"]
        node.harness.clear()
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        assert counted(node) == ["bad"]
        await node.end("a")
        await node.relist("bad")
        assert node.harness.sent(StopCounting) == [StopCounting("bad")]
        node.harness.clear()
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 3))
        assert counted(node) == []


def counted(node: Driven) -> list[str]:
    return [message.uid for message in node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER)]


def blame(home: Path, clock: VirtualClock) -> None:
    """The shard died on the pod as often as it takes."""
    key = content_key("bad", encode(BAD))
    for _ in range(POLICY.crashes):
        journal = Journal(home / "run" / "quarantine" / NAME, POLICY, clock)
        journal.record_of(lambda: key).start()
        journal.close()


async def test_a_shard_works_without_a_writable_quarantine(tmp_path, caplog):
    """The run directory is on a file system that an error has made read-only."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "quarantine").write_text("no directory")
    async with Driven(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.until(lambda: node.running("g") and node.running("a"))
        await node.remove("bad")
        await node.until(lambda: node.stage("bad") == "gone")
    assert "there is no quarantine of pods" in caplog.text


async def test_an_unreadable_pod_is_not_blamed_for_a_later_death(tmp_path):
    async with Driven(tmp_path) as node:
        await node.harness.deliver(PodOperation("set", "bad", b'{"spec": 1}'))
    journal = Journal(tmp_path / "run" / "quarantine" / NAME, POLICY, node.clock)
    assert journal.died_on == ""
    journal.close()


async def test_a_changed_pod_leaves_quarantine(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        node.fake.images.here["docker.io/library/other:latest"] = 1
        await node.want(pod("bad", "bad", containers=[container("b", image="other")]))
        await node.until(lambda: node.running("b"))


async def test_a_removed_pod_in_quarantine_ends_by_the_runtimes_state(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.first_look()
        await node.remove("bad")
        await node.until(lambda: node.stage("bad") == "gone")
        assert node.harness.sent(ShardPods)[-1].uids == ["good"]


ORDER = KillPod("bad", "Evicted", "The node was low on resource: memory. ", 1)


async def test_a_pod_in_quarantine_that_the_node_has_to_end_ends_with_the_reason(tmp_path, poison):
    async with await poisoned(tmp_path) as node:
        await node.sources(BAD, GOOD)
        await node.first_look()
        await node.harness.deliver(ORDER)
        await node.until(lambda: node.observed("bad").finished)
        assert (node.observed("bad").reason, node.observed("bad").worker_phase) == ("Evicted", "terminated")
        await node.want(BAD)  # its source repeats it
        await node.harness.deliver(Hello(STATUS_MANAGER, 2))
        assert node.observed("bad").reason == "Evicted"


async def test_a_pod_whose_termination_also_crashes_the_shard_is_ignored(tmp_path, poison, monkeypatch):
    stop = performers.PERFORMS[effects.StopPod]

    def stopped(run, effect):
        if run.state.uid == "bad":
            raise Poison
        return stop(run, effect)

    monkeypatch.setitem(performers.PERFORMS, effects.StopPod, stopped)
    node = await poisoned(tmp_path)
    for _ in range(POLICY.crashes):
        with pytest.raises(Poison):
            await lives(tmp_path, node.fake, node.clock, ORDER)
    async with Driven(tmp_path, node.fake, node.clock) as last:
        await last.sources(BAD, GOOD)
        await last.harness.deliver(ORDER)
        await last.until(lambda: last.running("g"))
        assert last.observed("bad").reason == "CrashLoop"
