"""A pull that takes long is waited for, and an image manager that keeps dying is a failure."""

from __future__ import annotations

from pathlib import Path

from actors.image_manager.messages import EnsureImage, ImageReady
from supervision.actor import AskError
from tests.support.shard_harness import Driven, pod


async def test_a_pull_that_takes_many_minutes_is_no_failure(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        node.answer(EnsureImage, None)
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        for _ in range(10):
            await node.pass_time(60)
            assert node.waiting() != "ImageInspectError"
        node.answer(EnsureImage, lambda question: ImageReady(question.image, question.image))
        await node.pass_time(60)
        await node.until(lambda: node.running("a"))


async def test_an_image_manager_that_dies_again_and_again_is_a_failure_that_users_see(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        node.answer(EnsureImage, AskError("it died before it answered"))
        await node.want(pod())
        await node.until(lambda: node.waiting() == "ImageInspectError")
