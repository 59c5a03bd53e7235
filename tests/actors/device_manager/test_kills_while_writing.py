"""A device manager that is killed at any write of its checkpoint gives no device twice, and forgets none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.device_manager.messages import DevicesAllocated, DevicesRefused, ReleaseDevices
from actors.pod_workers.messages import ShardPods
from tests.support.device_node import THING, Node
from tests.support.killed_writes import KilledWrites

WRITES = 5


@pytest.fixture
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        yield Node(Path(directory))


@pytest.fixture(params=[(step, after) for step in range(WRITES) for after in (False, True)], ids=str)
def kill(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> KilledWrites:
    step, after = request.param
    return KilledWrites(monkeypatch, step, after=after)


async def test_an_allocation_that_a_kill_cuts_off_gives_no_device_twice(node: Node, kill: KilledWrites) -> None:
    with ExitStack() as stack:
        async with node.harness:
            await node.join(stack.enter_context(node.plugin().running()))
            await node.allocate("kept")
            with kill.armed():
                await node.allocate("u")
        await node.kill()
        async with node.life():
            await node.reported({THING: 2}, {THING: 2})
            assert isinstance(await node.allocate("u"), DevicesAllocated)
            assert await node.held() == {"kept/c": {"d0"}, "u/c": {"d1"}}
            assert isinstance(await node.allocate("v"), DevicesRefused)
            await node.harness.stop()


async def test_a_release_that_a_kill_cuts_off_gives_its_device_back_once(node: Node, kill: KilledWrites) -> None:
    with ExitStack() as stack:
        async with node.harness:
            await node.join(stack.enter_context(node.plugin().running()))
            for uid in ("kept", "u"):
                await node.allocate(uid)
            with kill.armed():
                await node.harness.deliver(ReleaseDevices("u"))
        await node.kill()
        async with node.life():
            await node.reported({THING: 2}, {THING: 2})
            await node.harness.deliver(ShardPods("pod_workers/worker/0", 1, ["kept", "v"]))
            assert isinstance(await node.allocate("v"), DevicesAllocated)
            assert await node.held() == {"kept/c": {"d0"}, "v/c": {"d1"}}
            await node.harness.stop()
