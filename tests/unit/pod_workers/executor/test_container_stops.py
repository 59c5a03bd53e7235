"""The time that containers are given to end."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from actors.pod_workers.executor import container_stops
from actors.pod_workers.executor.container_stops import PreStopObserver, StopFailure, terminate_all
from actors.pod_workers.phases.termination_plan import Termination
from actors.shared.cri.errors import AnswerTooLarge, Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState, ExecResult
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.handlers import ExecAction, HTTPGetAction, LifecycleHandler, SleepAction


def ran() -> CriContainer:
    return CriContainer(id="a", name="a", pod_uid="u", state=CriContainerState.RUNNING)


class Runtime:
    """Notes the seconds that each container is given."""

    def __init__(self) -> None:
        self.given: dict[str, int] = {}

    async def stop_container(self, container_id, seconds):
        self.given[container_id] = seconds


async def nowhere() -> str:
    raise AssertionError("no hook calls the pod")


def stopped(*terminations: Termination, runtime: Any = None) -> tuple[dict[str, int], list[str]]:
    runtime = runtime or Runtime()
    said: list[str] = []
    observer = PreStopObserver(
        started=lambda _: None,
        unreached=lambda _: None,
        ended=lambda _: None,
        failed=lambda name, why: said.append(f"{name}: {why}"),
    )
    asyncio.run(terminate_all(runtime, None, terminations, nowhere, observer))
    return runtime.given, said


def test_at_least_two_seconds_are_left_for_the_signal():
    assert stopped(Termination(instance=ran(), grace=0)) == ({"a": 2}, [])


def test_a_hook_that_outlives_the_grace_period_is_abandoned():
    hook = LifecycleHandler(sleep=SleepAction(seconds=60))
    assert stopped(Termination(instance=ran(), grace=1, pre_stop=hook)) == ({"a": 2}, [])


def test_a_hook_for_which_no_descriptor_is_free_fails_within_the_grace_period(monkeypatch):
    async def short(*args: Any, **options: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(asyncio, "open_connection", short)
    hook = LifecycleHandler(httpGet=HTTPGetAction(port=80, host="127.0.0.1"))
    given, said = stopped(Termination(instance=ran(), grace=1, pre_stop=hook))
    text = 'Get "http://127.0.0.1:80": dial tcp 127.0.0.1:80: connect: too many open files'
    assert (given, said) == ({"a": 2}, [f"a: {text}"])


@pytest.mark.parametrize(
    ("code", "said"),
    [(0, []), (137, ["a: command 'sleep 9' exited with 137: "])],
)
def test_a_command_that_outlives_the_grace_period_is_reported_by_its_own_end(code, said):
    class Ends(Runtime):
        def __init__(self) -> None:
            super().__init__()
            self.ended = asyncio.Event()

        async def stop_container(self, container_id, seconds):
            await super().stop_container(container_id, seconds)
            self.ended.set()

        async def exec_sync(self, container_id, command, timeout_seconds=0):
            await self.ended.wait()
            return ExecResult(exit_code=code, stdout=b"", stderr=b"")

    hook = LifecycleHandler(exec=ExecAction(command=["sleep", "9"]))
    assert stopped(Termination(instance=ran(), grace=1, pre_stop=hook), runtime=Ends()) == ({"a": 2}, said)


def test_a_request_without_an_answer_that_outlives_the_grace_period_is_no_error(monkeypatch):
    class Hangs(Runtime):
        async def exec_sync(self, container_id, command, timeout_seconds=0):
            await asyncio.Event().wait()

    monkeypatch.setattr(container_stops, "HOOK_SECONDS", 0.01)
    hook = LifecycleHandler(exec=ExecAction(command=["sleep", "9"]))
    assert stopped(Termination(instance=ran(), grace=1, pre_stop=hook), runtime=Hangs()) == ({"a": 2}, [])


def test_a_container_that_could_not_be_stopped_blocks_nothing():
    class Refuses(Runtime):
        async def stop_container(self, container_id, seconds):
            await super().stop_container(container_id, seconds)
            raise Unavailable("StopContainer", "UNAVAILABLE", "away")

    async def story() -> None:
        pod = decode_pod(
            b'{"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "a", "image": "i"}],'
            b' "initContainers": [{"name": "s", "image": "i", "restartPolicy": "Always"}]}}'
        )
        runtime: Any = Refuses()
        sidecar = CriContainer(id="s", name="s", pod_uid="u", state=CriContainerState.RUNNING)
        observer = PreStopObserver(
            started=lambda _: None, unreached=lambda _: None, ended=lambda _: None, failed=lambda name, why: None
        )
        both = [Termination(instance=ran(), grace=0), Termination(instance=sidecar, grace=0)]
        assert len(await terminate_all(runtime, pod, both, nowhere, observer)) == 2
        assert runtime.given == {"a": 2, "s": 2}
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(story())


def test_a_hook_with_too_much_output_has_failed_and_is_not_repeated():
    class Verbose(Runtime):
        async def exec_sync(self, container_id, command, timeout_seconds=0):
            ran_hooks.append(container_id)
            raise AnswerTooLarge("ExecSync", "RESOURCE_EXHAUSTED", "CLIENT: Received message larger than max")

    ran_hooks: list[str] = []
    told: list[str] = []
    observer = PreStopObserver(
        started=lambda _: None,
        unreached=told.append,
        ended=lambda container: told.append(f"{container.name} ended"),
        failed=lambda name, why: told.append(f"{name} failed"),
    )
    runtime: Any = Verbose()
    hook = LifecycleHandler(exec=ExecAction(command=["yes"]))
    asyncio.run(terminate_all(runtime, None, [Termination(instance=ran(), grace=5, pre_stop=hook)], nowhere, observer))
    assert (len(ran_hooks), told) == (1, ["a failed", "a ended"])


def test_an_error_that_is_no_failure_of_the_hook_is_raised_once_the_containers_have_ended():
    class Broken(Runtime):
        async def exec_sync(self, container_id, command, timeout_seconds=0):
            raise ZeroDivisionError

    told: list[str] = []
    observer = PreStopObserver(
        started=lambda _: None,
        unreached=told.append,
        ended=lambda container: told.append(f"{container.name} ended"),
        failed=lambda name, why: told.append(f"{name} failed"),
    )
    runtime: Any = Broken()
    hook = LifecycleHandler(exec=ExecAction(command=["true"]))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(
            terminate_all(runtime, None, [Termination(instance=ran(), grace=5, pre_stop=hook)], nowhere, observer)
        )
    assert (runtime.given, told) == ({"a": 5}, [])


class Slow(Runtime):
    """Its containers end when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[str, asyncio.Event] = {}

    async def stop_container(self, container_id, seconds):
        await super().stop_container(container_id, seconds)
        self.ends[container_id] = asyncio.Event()
        await self.ends[container_id].wait()


def begun(runtime: Slow, count: int) -> asyncio.Task[list[StopFailure]]:
    observer = PreStopObserver(
        started=lambda _: None, unreached=lambda _: None, ended=lambda _: None, failed=lambda name, why: None
    )
    containers = [
        CriContainer(id=f"c{number}", name=f"c{number}", pod_uid="u", state=CriContainerState.RUNNING)
        for number in range(count)
    ]
    client: Any = runtime
    all_of_them = [Termination(instance=one, grace=30) for one in containers]
    return asyncio.ensure_future(terminate_all(client, None, all_of_them, nowhere, observer))


async def until(holds: Any) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.001)


def test_ten_stops_of_a_pod_begin_together_and_each_end_makes_room_for_the_next(monkeypatch):
    monkeypatch.setattr(container_stops, "BEGINNING_SECONDS", 600.0)

    async def story() -> None:
        runtime = Slow()
        stopping = begun(runtime, 25)
        await until(lambda: len(runtime.ends) == 10)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(runtime.ends) == 10
        runtime.ends["c3"].set()
        await until(lambda: len(runtime.ends) == 11)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(runtime.ends) == 11
        stopping.cancel()

    asyncio.run(story())


def test_a_stop_that_lasts_does_not_hold_up_the_next_ones_and_its_container_has_its_whole_grace(monkeypatch):
    monkeypatch.setattr(container_stops, "BEGINNING_SECONDS", 0.01)

    async def story() -> None:
        runtime = Slow()
        stopping = begun(runtime, 35)
        await until(lambda: len(runtime.ends) == 35)
        assert set(runtime.given.values()) == {30}
        for end in runtime.ends.values():
            end.set()
        assert await stopping == []

    asyncio.run(story())
