"""Sandboxes whose process died by itself: what they still hold is given back."""

from __future__ import annotations

from pathlib import Path

from tests.support.driven import Driven, pod


async def test_a_sandbox_that_died_is_stopped_before_there_is_a_new_one(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (first,) = node.fake.world.sandboxes
        node.fake.lose_sandbox(first)
        await node.relist()
        await node.until(lambda: node.asked("RunPodSandbox") == 2)
        order = [name for name, _ in node.fake.calls if name in ("RunPodSandbox", "StopPodSandbox")]
        assert order == ["RunPodSandbox", "StopPodSandbox", "RunPodSandbox"]
        assert [one.pod_sandbox_id for one in node.fake.asked("StopPodSandbox")] == [first]


async def test_a_sandbox_is_stopped_before_it_is_removed(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        ends = [name for name, _ in node.fake.calls if name in ("StopPodSandbox", "RemovePodSandbox")]
        assert ends == ["StopPodSandbox", "StopPodSandbox", "RemovePodSandbox"]
