"""Ending a task that the runtime has lost, where that does not go smoothly. (The contract has where it does.)"""

from __future__ import annotations

import pytest

from actors.shared.cri.adoption import PollSchedule
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import RuntimeFailure
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault


class CancelledStart:
    """A container whose start was cancelled and whose task remains. `pauses`: the waits for its end."""

    def __init__(self) -> None:
        self.fake, self.pauses = FakeRuntime("1.6"), list[float]()
        self.client: CriClient = self.fake.client(polling=PollSchedule(sleep=self._sleep))

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def __aenter__(self) -> CancelledStart:
        pod = sandbox_config()
        sandbox = await self.client.run_pod_sandbox(pod)
        self.id = await self.client.create_container(sandbox, container_config(pod), pod)
        self.fake.leave_task(self.id)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.fake.close()


async def test_a_task_that_dies_slowly_is_waited_for() -> None:
    async with CancelledStart() as cancelled:
        cancelled.fake.faults.add("KillTask", Fault(error="UNKNOWN", times=2))
        await cancelled.client.remove_container(cancelled.id)
        assert not cancelled.fake.world.containers
        assert cancelled.pauses == [0.1, 0.2]


async def test_the_removal_fails_when_a_task_does_not_die() -> None:
    async with CancelledStart() as cancelled:
        cancelled.fake.faults.add("KillTask", Fault(error="UNKNOWN"))
        with pytest.raises(RuntimeFailure, match="cannot delete running task"):
            await cancelled.client.remove_container(cancelled.id)
        assert 15 <= sum(cancelled.pauses) <= 16


@pytest.mark.parametrize("code", ["DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNAVAILABLE"])
async def test_a_shim_that_hangs_or_a_runtime_without_that_api_is_not_queried_again(code: str) -> None:
    async with CancelledStart() as cancelled:
        cancelled.fake.faults.add("KillTask", Fault(error=code))
        cancelled.fake.faults.add("DeleteTask", Fault(error=code))
        with pytest.raises(RuntimeFailure, match="cannot delete running task"):
            await cancelled.client.remove_container(cancelled.id)
        assert cancelled.pauses == []
        assert len(cancelled.fake.requests_for("DeleteTask")) == 1


async def test_a_task_that_blocks_again_is_not_ended_a_second_time() -> None:
    async with CancelledStart() as cancelled:
        details = f"cannot delete running task {cancelled.id}: failed precondition"
        cancelled.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", details=details))
        with pytest.raises(RuntimeFailure, match="cannot delete running task"):
            await cancelled.client.remove_container(cancelled.id)
        assert len(cancelled.fake.requests_for("RemoveContainer")) == 2
