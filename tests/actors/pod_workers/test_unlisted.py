"""Containers that run and that the runtime denies, as containerd does that came up on a full disk."""

from __future__ import annotations

from pathlib import Path

from actors.pleg.messages import ContainersUnlisted
from actors.pod_workers.executor import unlisted
from tests.support.shard_harness import Driven, pod

LOST = "0a" * 32


async def test_no_container_is_started_beside_them_until_the_runtime_lists_them(tmp_path: Path, monkeypatch) -> None:
    running = {LOST}
    monkeypatch.setattr(unlisted, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set())
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.harness.sent(ContainersUnlisted) != [], "they are told of")
        await node.pass_time(30)
        assert node.harness.sent(ContainersUnlisted, "pleg")[-1] == ContainersUnlisted("u", [LOST])
        assert len(node.harness.sent(ContainersUnlisted)) > 1
        assert node.asked("RunPodSandbox") == node.asked("CreateContainer") == 0
        assert any(reason == "FailedSync" and LOST in text for reason, text in node.told())
        running.clear()
        await node.pass_time(15)
        await node.until(lambda: node.running("a"), "the pod runs")


class Cgroups:
    """The cgroup of one pod with a container whose program has not begun."""

    def __init__(self) -> None:
        self.there = {LOST: f"/kubepods/podu/{LOST}"}
        self.killed: list[str] = []

    def waiting_in(self, _tree: object, cgroup: str) -> dict[str, str]:
        return self.there if cgroup == "/kubepods/podu" else {}

    def kill(self, cgroup: str) -> int:
        self.killed.append(cgroup)
        self.there = {}
        return 1


async def test_what_a_cancelled_start_has_left_is_killed_and_in_nobodys_way(tmp_path: Path, monkeypatch) -> None:
    cgroups = Cgroups()
    monkeypatch.setattr(unlisted, "running_in", lambda *_: set())
    monkeypatch.setattr(unlisted, "waiting_in", cgroups.waiting_in)
    monkeypatch.setattr(unlisted, "_tree", lambda: cgroups)
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
    assert cgroups.killed == [f"/kubepods/podu/{LOST}"]
    assert node.harness.sent(ContainersUnlisted) == []


async def test_a_container_that_the_runtime_is_starting_is_not_killed(tmp_path: Path, monkeypatch) -> None:
    cgroups = Cgroups()
    monkeypatch.setattr(unlisted, "running_in", lambda *_: set())
    monkeypatch.setattr(unlisted, "waiting_in", cgroups.waiting_in)
    monkeypatch.setattr(unlisted, "_tree", lambda: cgroups)
    cgroups.there = {}
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        cgroups.there = {one.id: f"/kubepods/podu/{one.id}" for one in node.containers("a")}
        await node.end("a", 1)
        await node.pass_time(30)
        await node.until(lambda: node.attempts("a") == [0, 1], "its container is started again")
    assert cgroups.killed == []


async def test_what_the_runtime_lists_is_in_nobodys_way(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        there = {one.id for one in node.containers("a")}
        monkeypatch.setattr(unlisted, "running_in", lambda *_: there)
        await node.end("a", 1)
        await node.pass_time(30)
        await node.until(lambda: node.attempts("a") == [0, 1], "its container is started again")
        assert node.harness.sent(ContainersUnlisted) == []


async def test_a_pod_that_is_removed_waits_for_the_runtime_to_list_them_and_then_ends_without_it(
    tmp_path: Path, monkeypatch
) -> None:
    running: set[str] = set()
    monkeypatch.setattr(unlisted, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set())
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        running.add(LOST)
        await node.remove()
        await node.until(lambda: node.harness.sent(ContainersUnlisted) != [], "they are told of")
        assert "u" in node.shard.pods, "the pod is not over while containers of it run"
        await node.pass_time(60)
        await node.until(lambda: "u" not in node.shard.pods, "what fills the disk must be able to end")


async def test_a_pod_that_is_removed_ends_in_order_once_they_are_listed_again(tmp_path: Path, monkeypatch) -> None:
    running: set[str] = set()
    monkeypatch.setattr(unlisted, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set())
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        running.update(one.id for one in node.containers("a"))
        hidden = dict(node.fake.world.containers)
        node.fake.world.containers.clear()
        await node.relist()
        await node.remove()
        await node.until(lambda: node.harness.sent(ContainersUnlisted) != [], "they are told of")
        node.fake.world.containers.update(hidden)
        await node.pass_time(2)
        await node.until(lambda: "u" not in node.shard.pods, "it is over")
        assert [call.container_id for call in node.fake.asked("StopContainer")] == list(hidden)
