"""Containers that run and that the runtime denies, as containerd does that came up on a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.messages import AdmitPod, PodAdmitted, ResizePod
from actors.pleg.messages import ContainersUnlisted
from actors.pod_workers.executor import pod_processes
from actors.shared.cri.model import is_running
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import PodObserved
from tests.support.shard_harness import Driven, container, pod

LOST = "0a" * 32


async def test_no_container_is_started_beside_them_until_the_runtime_lists_them(tmp_path: Path, monkeypatch) -> None:
    running = {LOST}
    monkeypatch.setattr(
        pod_processes, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set()
    )
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.harness.sent(ContainersUnlisted) != [], "they are told of")
        await node.pass_time(30)
        assert node.harness.sent(ContainersUnlisted, "pleg")[-1] == ContainersUnlisted("u", [LOST])
        assert len(node.harness.sent(ContainersUnlisted)) > 1
        assert node.count_of("RunPodSandbox") == node.count_of("CreateContainer") == 0
        assert any(reason == "FailedSync" and LOST in text for reason, text in node.events())
        running.clear()
        await node.pass_time(15)
        await node.until(lambda: node.running("a"), "the pod runs")


async def test_cgroups_that_cannot_be_read_end_no_worker_and_no_container_is_started_meanwhile(
    tmp_path: Path, monkeypatch
) -> None:
    """An actor without free file descriptors would die on pod after pod, and these would be set aside."""

    def fail(*_: object) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    async with Driven(tmp_path) as node:
        await node.sources()
        with monkeypatch.context() as patch:
            patch.setattr(pod_processes, "running_in", fail)
            await node.want(pod())
            await node.first_look()
            await node.pass_time(30)
            assert node.count_of("RunPodSandbox") == node.count_of("CreateContainer") == 0
        await node.pass_time(60)
        await node.until(lambda: node.running("a"), "the pod runs")


class Cgroups:
    """The cgroup of one pod with a container whose program has not begun."""

    def __init__(self) -> None:
        self.there = {LOST: f"/kubepods/podu/{LOST}"}
        self.killed: list[str] = []

    def children(self, _cgroup: str) -> list[str]:
        return []

    def waiting_in(self, _tree: object, cgroup: str) -> dict[str, str]:
        return self.there if cgroup == "/kubepods/podu" else {}

    def exists(self, _cgroup: str) -> bool:
        return True

    def kill(self, cgroup: str) -> int:
        self.killed.append(cgroup)
        self.there = {}
        return 1


async def test_processes_of_a_cancelled_start_are_killed_and_block_nothing(tmp_path: Path, monkeypatch) -> None:
    cgroups = Cgroups()
    monkeypatch.setattr(pod_processes, "running_in", lambda *_: set())
    monkeypatch.setattr(pod_processes, "waiting_in", cgroups.waiting_in)
    monkeypatch.setattr(pod_processes, "tree", lambda: cgroups)
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
    assert cgroups.killed == [f"/kubepods/podu/{LOST}"]
    assert node.harness.sent(ContainersUnlisted) == []


async def test_a_container_that_the_runtime_is_starting_is_not_killed(tmp_path: Path, monkeypatch) -> None:
    cgroups = Cgroups()
    monkeypatch.setattr(pod_processes, "running_in", lambda *_: set())
    monkeypatch.setattr(pod_processes, "waiting_in", cgroups.waiting_in)
    monkeypatch.setattr(pod_processes, "tree", lambda: cgroups)
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


class Remains:
    """A cgroup tree with a process in the cgroup of one container."""

    def __init__(self, container_id: str) -> None:
        self.there = {f"/kubepods/podu/{container_id}": [os.getpid()]}
        self.killed: list[str] = []
        self.when_killed: Callable[[], None] = lambda: None

    def children(self, cgroup: str) -> list[str]:
        return [path.removeprefix(f"{cgroup}/") for path in self.there if path.startswith(f"{cgroup}/")]

    def processes(self, cgroup: str) -> list[int]:
        return self.there.get(cgroup, [])

    def exists(self, _cgroup: str) -> bool:
        return True

    def kill(self, cgroup: str) -> int:
        self.killed.append(cgroup)
        self.when_killed()
        return len(self.there.pop(cgroup, []))


async def test_what_has_ended_for_the_runtime_and_runs_is_killed_before_another_is_started(
    tmp_path: Path, monkeypatch
) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        (first,) = node.containers("a")
        tree = Remains(first.id)
        monkeypatch.setattr(pod_processes, "tree", lambda: tree)
        await node.pass_time(5)
        assert tree.killed == [], "it runs for the runtime, too"
        await node.end("a", 255)
        await node.pass_time(30)
        await node.until(lambda: node.attempts("a") == [0, 1], "its container is started again")
        assert tree.killed == [f"/kubepods/podu/{first.id}"]


async def test_what_was_stopped_for_another_sandbox_and_runs_on_is_killed_first(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        await node.settled()
        (first,) = node.containers("a")
        tree = Remains(first.id)
        sandboxes_at_kill: list[int] = []
        tree.when_killed = lambda: sandboxes_at_kill.append(node.count_of("RunPodSandbox"))
        monkeypatch.setattr(pod_processes, "tree", lambda: tree)
        node.fake.lose_sandbox(next(iter(node.fake.world.sandboxes)))
        await node.relist()
        await node.until(lambda: node.attempts("a") == [0, 1] and node.running("a"), "it runs in another sandbox")
        assert tree.killed == [f"/kubepods/podu/{first.id}"]
        assert sandboxes_at_kill == [1], "only the first sandbox has been there"


async def test_listed_containers_block_nothing(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        there = {one.id for one in node.containers("a")}
        monkeypatch.setattr(pod_processes, "running_in", lambda *_: there)
        await node.end("a", 1)
        await node.pass_time(30)
        await node.until(lambda: node.attempts("a") == [0, 1], "its container is started again")
        assert node.harness.sent(ContainersUnlisted) == []


async def test_a_pod_that_is_removed_waits_for_the_runtime_to_list_them_and_then_ends_without_it(
    tmp_path: Path, monkeypatch
) -> None:
    running: set[str] = set()
    monkeypatch.setattr(
        pod_processes, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set()
    )
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
    monkeypatch.setattr(
        pod_processes, "running_in", lambda _tree, cgroup: running if cgroup == "/kubepods/podu" else set()
    )
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
        assert [call.container_id for call in node.fake.requests_for("StopContainer")] == list(hidden)


class Processes:
    """The processes of the pod, whatever the runtime says."""

    def __init__(self, node: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
        self._world = node.fake.world
        self._denied: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.running: set[str] = set()
        self.paused: set[str] = set()
        monkeypatch.setattr(pod_processes, "running_in", lambda *_: self.running)
        monkeypatch.setattr(pod_processes, "paused_in", lambda *_: self.paused)

    def deny(self) -> None:
        """The runtime lists nothing any more, and all goes on."""
        self._denied = dict(self._world.containers), dict(self._world.sandboxes)
        self.running, self.paused = set(self._world.containers), set(self._world.sandboxes)
        self._world.containers.clear()
        self._world.sandboxes.clear()
        self._world.reserved.clear()  # as in containerd that was started again

    def list_again(self) -> None:
        self._world.containers.update(self._denied[0])
        self._world.sandboxes.update(self._denied[1])

    def end(self) -> None:
        self.running, self.paused = set(), set()


async def test_an_unlisted_container_keeps_its_status_and_continues_once_it_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Driven(tmp_path) as node:
        processes = Processes(node, monkeypatch)
        await node.sources()
        await node.first_look()
        await node.want(pod(containers=[container("a"), container("b")]))
        await node.until(lambda: node.running("a") and node.running("b"), "the pod runs")
        await node.relist()
        before = node.observed()
        processes.deny()
        await node.relist()
        await node.pass_time(60)
        seen = node.observed()
        assert seen.runtime is not None
        assert before.runtime is not None
        assert (seen.runtime.containers, seen.runtime.sandboxes) == (
            before.runtime.containers,
            before.runtime.sandboxes,
        )
        assert seen.sandbox_ready
        assert not seen.waiting
        assert node.harness.sent(ContainersUnlisted, "pleg")[-1].container_ids == sorted(processes.running)
        processes.list_again()
        await node.relist()
        await node.pass_time(60)
        assert node.attempts("a") == node.attempts("b") == [0]
        after = node.observed().runtime
        assert after is not None
        assert (after.containers, after.sandboxes) == (before.runtime.containers, before.runtime.sandboxes)
        assert node.observed().last_error == ""


async def test_a_resize_waits_until_the_runtime_lists_the_containers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sized(cpu: str) -> Pod:
        return pod(containers=[container("a", resources={"requests": {"cpu": cpu, "memory": "64Mi"}})])

    async with Driven(tmp_path) as node:
        processes = Processes(node, monkeypatch)
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(sized("100m"))
        await node.until(lambda: node.running("a"), "the pod runs")
        await node.relist()
        processes.deny()
        await node.relist()
        await node.want(sized("200m"))
        await node.pass_time(60)
        assert not {"ResizeStarted", "ResizeCompleted"} & {reason for reason, _ in node.events()}
        processes.list_again()
        await node.relist()
        await node.pass_time(60)
        await node.until(lambda: "ResizeCompleted" in dict(node.events()), "it is resized")
        assert node.count_of("UpdateContainerResources") == 1
        assert node.attempts("a") == [0]


async def test_a_container_that_ends_while_unlisted_is_lost_and_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Driven(tmp_path) as node:
        processes = Processes(node, monkeypatch)
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        lost = node.containers("a")[0].id
        await node.relist()
        processes.deny()
        await node.relist()
        await node.pass_time(30)
        assert node.count_of("CreateContainer") == 1
        processes.end()
        await node.pass_time(15)
        await node.until(lambda: node.running("a"), "another instance runs")
        await node.relist()
        runtime = node.observed().runtime
        assert runtime is not None
        assert [ran.id for ran in runtime.containers] == [node.containers("a")[0].id] != [lost]


async def test_a_worker_that_starts_while_its_pod_is_unlisted_keeps_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Driven(tmp_path) as first:
        processes = Processes(first, monkeypatch)
        await first.sources()
        await first.first_look()
        await first.want(pod())
        await first.until(lambda: first.running("a"), "the pod runs")
        await first.settled()
        processes.deny()
    async with Driven(tmp_path, first.fake, first.clock) as node:
        await node.sources(pod())
        await node.first_look()
        await node.until(lambda: node.harness.sent(ContainersUnlisted) != [], "they are told of")
        await node.pass_time(30)
        assert [one.runtime for one in node.harness.sent(PodObserved)] == [None] * len(node.harness.sent(PodObserved))
        [asked] = [asked for _, asked in node.harness.asks if isinstance(asked, AdmitPod)]
        assert asked.running, "what runs is not refused"
        processes.list_again()
        await node.relist()
        await node.pass_time(15)
        runtime = node.observed().runtime
        assert runtime is not None
        assert is_running(runtime.newest("a"))
        assert node.attempts("a") == [0]
