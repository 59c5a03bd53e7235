"""The time that containers are given to end."""

from __future__ import annotations

import asyncio
from typing import Any

from actors.pod_workers.executor.termination import Observer, terminate_all
from actors.pod_workers.phases.termination_plan import Termination
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState
from actors.shared.kube.container import LifecycleHandler, SleepAction


def ran() -> Ran:
    return Ran(id="a", name="a", pod_uid="u", state=ContainerState.RUNNING)


class Runtime:
    """Notes the seconds that each container is given."""

    def __init__(self) -> None:
        self.given: dict[str, int] = {}

    async def stop_container(self, container_id, seconds):
        self.given[container_id] = seconds


async def nowhere() -> str:
    raise AssertionError("no hook calls the pod")


def stopped(*terminations: Termination) -> tuple[dict[str, int], list[str]]:
    runtime: Any = Runtime()
    said: list[str] = []
    observer = Observer(
        begun=lambda _: None, unreached=lambda _: None, failed=lambda name, why: said.append(f"{name}: {why}")
    )
    asyncio.run(terminate_all(runtime, None, terminations, nowhere, observer))
    return runtime.given, said


def test_at_least_two_seconds_are_left_for_the_signal():
    assert stopped(Termination(ran=ran(), grace=0)) == ({"a": 2}, [])


def test_the_time_of_the_hook_is_taken_off_the_grace_and_a_long_one_is_given_up():
    hook = LifecycleHandler(sleep=SleepAction(seconds=60))
    given, said = stopped(Termination(ran=ran(), grace=1, pre_stop=hook))
    assert given == {"a": 2}
    assert said == ["a: it took longer than the grace period of 1 s"]
