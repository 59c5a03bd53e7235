"""Stops that the runtime does not end in time, as where the shim of a pod hangs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from actors.pod_workers.executor import hanging_stops, pod_processes
from tests.support.fake_cri.faults import Fault
from tests.support.shard_harness import Driven, container, pod

TIMEOUT = Fault(error="DEADLINE_EXCEEDED")


class PodCgroup:
    """The cgroup of the pod: each container and sandbox that the runtime lists as running has a process there."""

    def __init__(self, node: Driven, monkeypatch: pytest.MonkeyPatch, *, shim_reports: bool) -> None:
        self._world, self._shim_reports = node.fake.world, shim_reports
        self.killed: list[str] = []
        self.unkillable: set[str] = set()
        monkeypatch.setattr(pod_processes, "tree", lambda: self)
        monkeypatch.setattr(hanging_stops, "REPORT_SECONDS", 1.0)

    def children(self, cgroup: str) -> list[str]:
        there = [*self._world.containers, *self._world.sandboxes]
        return [one for one in there if one not in self.killed] if cgroup == "/kubepods/podu" else []

    def processes(self, cgroup: str) -> list[int]:
        return [os.getpid()] if cgroup.rpartition("/")[2] in self._world.containers else []

    def exists(self, _cgroup: str) -> bool:
        return True

    def kill(self, cgroup: str) -> int:
        which = cgroup.rpartition("/")[2]
        if which not in self.unkillable:
            self.killed.append(which)
            if self._shim_reports:
                self._world.end(self._world.containers[which], 137)
        return 1


def ended_shims(node: Driven) -> list[list[str]]:
    return [arguments["ids"] for name, arguments in node.harness.disposed if name == hanging_stops.END_SHIMS]


async def removed(node: Driven, *, end_shims: Any = None) -> str:
    """A pod that runs, is removed, and whose container the runtime does not stop. The container's id."""
    node.harness.disposables[hanging_stops.END_SHIMS] = end_shims or (lambda **_: [])
    await node.want(pod())
    await node.until(lambda: node.running("a"), "the pod runs")
    await node.settled()
    node.fake.faults.add("StopContainer", TIMEOUT)
    node.fake.faults.add("KillTask", TIMEOUT)
    await node.remove()
    return node.containers("a")[0].id


async def stop_failed(node: Driven) -> None:
    await node.until(lambda: "FailedKillPod" in dict(node.events()), "the stop has failed")
    await node.settled()


async def test_the_processes_of_a_container_whose_stop_hangs_are_killed(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        cgroup = PodCgroup(node, monkeypatch, shim_reports=True)
        which = await removed(node)
        await node.until(lambda: cgroup.killed == [which], "its processes are killed")
        node.fake.faults.clear()
        await stop_failed(node)
        await node.pass_time(5)
        await node.until(lambda: "u" not in node.shard.pods, "the pod is over")
        assert ended_shims(node) == []


async def test_a_shim_that_does_not_report_the_end_of_killed_processes_is_killed(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        PodCgroup(node, monkeypatch, shim_reports=False)

        def end_shims(socket: str, ids: list[str]) -> list[str]:
            assert socket == node.agent.runtime_endpoint.removeprefix("unix://")
            node.fake.faults.clear()
            node.fake.world.end(node.containers("a")[0], 137)
            return ids[:1]

        which = await removed(node, end_shims=end_shims)
        await node.until(lambda: ended_shims(node) != [], "the shim is killed")
        await stop_failed(node)
        await node.pass_time(5)
        await node.until(lambda: "u" not in node.shard.pods, "the pod is over")
        (sandbox,) = {request.pod_sandbox_id for request in node.fake.requests_for("StopPodSandbox")}
        assert ended_shims(node) == [sorted([which, sandbox])]


async def test_no_shim_is_killed_while_processes_are_left_that_the_kernel_does_not_end(
    tmp_path: Path, monkeypatch
) -> None:
    async with Driven(tmp_path) as node:
        cgroup = PodCgroup(node, monkeypatch, shim_reports=False)
        node.harness.disposables[hanging_stops.END_SHIMS] = lambda **_: []
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        cgroup.unkillable.add(node.containers("a")[0].id)
        node.fake.faults.add("StopContainer", TIMEOUT)
        await node.remove()
        await node.until(lambda: "FailedKillPod" in dict(node.events()), "the stop has failed")
        assert ended_shims(node) == []
        assert "u" in node.shard.pods


async def test_a_shim_that_answers_is_not_killed_while_the_runtime_records_no_end(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        PodCgroup(node, monkeypatch, shim_reports=False)
        await removed(node)
        node.fake.faults.clear("KillTask")
        await stop_failed(node)
        assert ended_shims(node) == []


async def test_a_stop_that_fails_at_once_kills_nothing(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        cgroup = PodCgroup(node, monkeypatch, shim_reports=False)
        await node.want(pod(containers=[container("a")]))
        await node.until(lambda: node.running("a"), "the pod runs")
        node.fake.faults.add("StopContainer", Fault(error="UNKNOWN"))
        await node.remove()
        await node.until(lambda: "FailedKillPod" in dict(node.events()), "the stop has failed")
        assert cgroup.killed == []


async def test_a_sandbox_whose_stop_hangs_loses_its_shim(tmp_path: Path, monkeypatch) -> None:
    async with Driven(tmp_path) as node:
        PodCgroup(node, monkeypatch, shim_reports=True)

        def end_shims(socket: str, ids: list[str]) -> list[str]:
            node.fake.faults.clear()
            return ids

        node.harness.disposables[hanging_stops.END_SHIMS] = end_shims
        await node.want(pod())
        await node.until(lambda: node.running("a"), "the pod runs")
        await node.settled()
        node.fake.faults.add("StopPodSandbox", TIMEOUT)
        node.fake.faults.add("KillTask", TIMEOUT)
        await node.remove()
        await node.until(lambda: ended_shims(node) != [], "the shim is killed")
        await stop_failed(node)
        await node.pass_time(5)
        await node.until(lambda: "u" not in node.shard.pods, "the pod is over")
