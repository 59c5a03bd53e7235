"""A container that was made and, as far as the runtime knows, never started."""

from __future__ import annotations

from actors.container_manager.messages import PodReleased, ReleasePod
from actors.cri.fake import Fault
from tests.support.driven import Driven, pod


async def test_what_the_runtime_holds_for_never_started_and_does_not_remove_keeps_no_pod_from_ending(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(error="UNKNOWN"))
        await node.want(pod())
        await node.until(lambda: node.asked("StartContainer") >= 1)
        await node.settled()
        released: list[ReleasePod] = []
        node.answer(ReleasePod, lambda asked: released.append(asked) or PodReleased(asked.uid))
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", times=1))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert len(released) == 1
        assert not node.fake.world.containers
