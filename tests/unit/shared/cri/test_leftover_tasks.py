"""Ending a task that the runtime has lost, where that does not go smoothly. (The contract has where it does.)"""

from __future__ import annotations

import pytest

from actors.shared.cri.adoption import Settling
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import Other
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault


class Left:
    """A container whose task is left, and how long was waited for its end."""

    def __init__(self) -> None:
        self.fake, self.pauses = FakeRuntime("1.6"), list[float]()
        self.client: CriClient = self.fake.client(settling=Settling(sleep=self._sleep))

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def __aenter__(self) -> Left:
        pod = sandbox_config()
        sandbox = await self.client.run_pod_sandbox(pod)
        self.id = await self.client.create_container(sandbox, container_config(pod), pod)
        self.fake.leave_task(self.id)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.fake.close()


async def test_a_task_that_dies_slowly_is_waited_for() -> None:
    async with Left() as left:
        left.fake.faults.add("KillTask", Fault(error="UNKNOWN", times=2))
        await left.client.remove_container(left.id)
        assert not left.fake.world.containers
        assert left.pauses == [0.1, 0.2]


async def test_one_that_does_not_die_leaves_the_removal_failed_after_a_while() -> None:
    async with Left() as left:
        left.fake.faults.add("KillTask", Fault(error="UNKNOWN"))
        with pytest.raises(Other, match="cannot delete running task"):
            await left.client.remove_container(left.id)
        assert 15 <= sum(left.pauses) <= 16


@pytest.mark.parametrize("code", ["DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNAVAILABLE"])
async def test_a_shim_that_hangs_or_a_runtime_without_that_api_is_not_asked_again(code: str) -> None:
    async with Left() as left:
        left.fake.faults.add("KillTask", Fault(error=code))
        left.fake.faults.add("DeleteTask", Fault(error=code))
        with pytest.raises(Other, match="cannot delete running task"):
            await left.client.remove_container(left.id)
        assert left.pauses == []
        assert len(left.fake.asked("DeleteTask")) == 1


async def test_a_task_that_is_said_to_be_in_the_way_once_more_is_not_ended_for_ever() -> None:
    async with Left() as left:
        details = f"cannot delete running task {left.id}: failed precondition"
        left.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", details=details))
        with pytest.raises(Other, match="cannot delete running task"):
            await left.client.remove_container(left.id)
        assert len(left.fake.asked("RemoveContainer")) == 2
