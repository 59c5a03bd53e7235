"""A node that runs short, on a made-up host."""

from typing import Any

from actors.api_clients.messages import HEARTBEAT_CLIENT, NodePressure
from actors.container_manager.messages import PodAdmitted, PodRejected
from actors.image_manager.messages import GetImageFilesystem, ImageFilesystem
from supervision.actor import DisposableError
from supervision.protocol import Hello
from tests.support.managed_host import admit, pod

READ = "actors.container_manager.eviction_signals:read"


def short_of_memory(host, left):
    """A manager whose node has `left[0]` bytes of memory; the disks that were looked at come into `left`."""
    manager = host.start(standalone=False, evictionHard={"memory.available": "100"})
    manager.answer(GetImageFilesystem, ImageFilesystem("/images"))

    def read(disks, host):
        left.append(disks)
        return {"memory.available": [left[0], 1000]}

    manager.disposables[READ] = read
    return manager


async def test_a_node_that_is_short_of_memory_says_so_and_refuses_pods_without_requests(host):
    left: list[Any] = [50]
    async with short_of_memory(host, left) as manager:
        await manager.advance(0.1)
        assert await manager.wait_sent(NodePressure, to=HEARTBEAT_CLIENT) == NodePressure(memory=True)
        refused = await admit(manager, "u1", pod())
        assert refused == PodRejected("u1", "Evicted", "The node had condition: [MemoryPressure]. ")
        assert isinstance(await admit(manager, "u2", pod(memory="1Mi")), PodAdmitted)
        assert isinstance(await admit(manager, "u3", pod(), running=True), PodAdmitted)
        assert isinstance(await admit(manager, "u4", pod(priority=2000000000)), PodAdmitted)
        await manager.deliver(Hello(HEARTBEAT_CLIENT, 2))
        assert await manager.wait_sent(NodePressure, to=HEARTBEAT_CLIENT, count=2) == NodePressure(memory=True)
    assert left[1]["imagefs"] == "/images"


async def test_a_node_that_has_enough_says_so(host):
    async with short_of_memory(host, [500]) as manager:
        await manager.advance(0.1)
        assert await manager.wait_sent(NodePressure, to=HEARTBEAT_CLIENT) == NodePressure()
        assert isinstance(await admit(manager, "u1", pod()), PodAdmitted)


async def test_a_look_that_fails_changes_nothing(host):
    async with short_of_memory(host, [50]) as manager:
        await manager.advance(0.1)
        await manager.wait_sent(NodePressure, to=HEARTBEAT_CLIENT)
        manager.disposables[READ] = DisposableError("OSError", "a disk that hangs")
        await manager.actor._pressure.observe()
        assert len(manager.sent(NodePressure)) == 1
        assert isinstance(await admit(manager, "u1", pod()), PodRejected)


async def test_standing_alone_nobody_is_told(host):
    async with host.start() as manager:
        await manager.advance(30.0)
        assert manager.sent(NodePressure) == []
