"""The images of sandboxes: each is asked for once, as long as the runtime answers."""

from __future__ import annotations

import pytest

from actors.shared.cri.conversion import sandbox_image
from actors.shared.cri.errors import CriError, NotFound, RuntimeFailure
from actors.shared.stats.sandbox_images import SandboxImages


class Runtime:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing: dict[str, CriError] = {}

    async def pod_sandbox_image(self, sandbox_id: str) -> str:
        self.asked.append(sandbox_id)
        if sandbox_id in self.failing:
            raise self.failing[sandbox_id]
        return f"pause of {sandbox_id}"


async def test_a_sandbox_is_asked_for_once_while_it_is_there():
    runtime = Runtime()
    images = SandboxImages(runtime)
    assert await images.of(["a", "b"]) == {"a": "pause of a", "b": "pause of b"}
    assert await images.of(["b", "c"]) == {"b": "pause of b", "c": "pause of c"}
    assert runtime.asked == ["a", "b", "c"]
    await images.of(["a"])
    assert runtime.asked[-1] == "a", "it was gone meanwhile, so nothing is kept of it"


async def test_a_sandbox_that_is_gone_costs_no_other_its_image():
    runtime = Runtime()
    runtime.failing["a"] = NotFound("PodSandboxStatus", "NOT_FOUND", "no such sandbox")
    images = SandboxImages(runtime)
    assert await images.of(["a", "b"]) == {"b": "pause of b"}
    del runtime.failing["a"]
    assert set(await images.of(["a", "b"])) == {"a", "b"}


async def test_a_runtime_that_does_not_answer_is_asked_for_a_few_only():
    runtime = Runtime()
    ids = [str(number) for number in range(100)]
    runtime.failing = {one: RuntimeFailure("PodSandboxStatus", "DEADLINE_EXCEEDED", "slow") for one in ids}
    assert await SandboxImages(runtime).of(ids) == {}
    assert len(runtime.asked) < 10


@pytest.mark.parametrize(
    ("info", "image"),
    [
        ('{"image":"registry.k8s.io/pause:3.9","pid":7,"runtimeSpec":{}}', "registry.k8s.io/pause:3.9"),
        ("", ""),
        ("[]", ""),
        ('{"image":7}', ""),
        ('{"pid":7}', ""),
    ],
)
def test_the_image_is_read_from_the_information_of_the_runtime(info, image):
    assert sandbox_image(info) == image
