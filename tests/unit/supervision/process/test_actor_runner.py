"""How the labels of what runs are shown and counted."""

import asyncio
import contextlib
from typing import NoReturn

import pytest

from supervision.messaging.channel import Flusher
from supervision.process.actor_runner import ActorRunner, kind_of
from supervision.process.status_page import StatusPage
from supervision.task_context import Work


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("actors.pleg.messages.PodNetwork", "PodNetwork"),
        ("Driver._restart", "_restart"),
        ("status of 0a1b-2c3d", "status"),
        ("probe default/web.example.com/main", "probe"),
        ("", ""),
    ],
)
def test_long_steps_are_counted_by_kind_not_by_pod(label: str, kind: str) -> None:
    assert kind_of(label) == kind


class Ended(Exception):
    """In place of the end of the process."""


class End:
    """Notes what the process would have ended with."""

    def __init__(self) -> None:
        self.crashed: list[str] = []

    def crash(self, message: str, error: BaseException) -> NoReturn:
        self.crashed.append(message)
        raise Ended

    def exit(self, status: int) -> NoReturn:
        raise Ended


class NotedRecord:
    """Notes whether an input is recorded."""

    def __init__(self) -> None:
        self.taken, self.holds = 0, False

    def start(self) -> None:
        self.taken, self.holds = self.taken + 1, True

    def end(self) -> None:
        self.holds = False


class Running:
    """A runner in the test's own loop."""

    def __init__(self) -> None:
        self.entry, self.end = StatusPage(1).take(), End()
        self.slow: list[str] = []
        self.runner = ActorRunner(
            Flusher(asyncio.get_running_loop()), self.entry, self.end, lambda label, seconds: self.slow.append(label)
        )

    @property
    def current(self) -> str:
        reading = self.entry.read()
        return reading.message if reading.busy_since else ""


async def test_labels_of_a_hundred_thousand_pods_are_not_kept() -> None:
    running = Running()
    for number in range(100_000):
        running.runner.start(Work(f"status of {number}"))
    assert running.entry.read().message == "status of 99999"
    assert len(running.runner._padded) < 1000


async def test_a_task_is_shown_during_its_steps_and_not_while_it_waits() -> None:
    running, seen, record = Running(), list[tuple[str, bool]](), NotedRecord()
    go_on = asyncio.Event()

    async def work() -> None:
        seen.append((running.current, record.holds))
        await go_on.wait()
        seen.append((running.current, record.holds))

    task = running.runner.task(work(), "pod x", record)
    await asyncio.sleep(0)
    assert (running.current, record.holds) == ("", False)
    go_on.set()
    await task
    assert seen == [("pod x", True)] * 2
    assert (running.current, record.holds) == ("", False)


async def test_tasks_started_by_a_task_belong_to_its_work() -> None:
    running, record = Running(), NotedRecord()

    async def part() -> tuple[str, bool]:
        return running.current, record.holds

    async def work() -> list[tuple[str, bool]]:
        return [await asyncio.ensure_future(part()), await asyncio.ensure_future(asyncio.wait_for(part(), 10))]

    assert await running.runner.task(work(), "pod x", record) == [("pod x", True)] * 2


async def test_tasks_started_by_the_actor_do_not_belong_to_a_task() -> None:
    running, record = Running(), NotedRecord()

    async def other() -> bool:
        return record.holds

    async def work() -> asyncio.Task[bool]:
        return running.runner.task(other(), "another", None)

    assert not await (await running.runner.task(work(), "pod x", record))
    in_a_call = running.runner.call(lambda: asyncio.ensure_future(other()), "a.Message")
    assert in_a_call is not None
    assert not await in_a_call


async def test_a_failure_with_a_waiting_caller_ends_no_process_and_clears_the_record() -> None:
    running, record = Running(), NotedRecord()

    async def fails() -> None:
        raise ZeroDivisionError

    async def work() -> bool:
        with contextlib.suppress(ZeroDivisionError):
            await asyncio.ensure_future(fails())
        return True

    assert await running.runner.task(work(), "pod x", record)
    assert (running.end.crashed, record.holds) == ([], False)


async def test_a_failure_that_ends_the_process_stays_on_record() -> None:
    running, record = Running(), NotedRecord()

    async def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(Ended):
        await running.runner.task(fails(), "pod x", record)
    assert (running.end.crashed, record.holds) == (["pod x"], True)


async def test_a_task_that_is_cancelled_on_purpose_ends_alone() -> None:
    running, record = Running(), NotedRecord()

    async def waits() -> None:
        async with asyncio.timeout(60):
            await asyncio.Event().wait()

    task = running.runner.task(waits(), "pod x", record)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert (running.end.crashed, running.current, record.holds) == ([], "", False)
    unstarted = running.runner.task(waits(), "pod y")
    unstarted.cancel()
    await asyncio.wait([unstarted])
    assert running.end.crashed == []


async def test_a_timeout_within_a_task_ends_nothing() -> None:
    running = Running()

    async def waits() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return ""

    assert await running.runner.task(waits(), "pod x") == "late"
    assert running.end.crashed == []


async def test_an_unrequested_cancellation_ends_the_process() -> None:
    running, channel = Running(), asyncio.get_running_loop().create_future()

    async def calls() -> None:
        await channel

    task = running.runner.task(calls(), "a.Message")
    await asyncio.sleep(0)
    channel.cancel()
    with pytest.raises(Ended):
        await task
    assert running.end.crashed == ["a.Message"]


async def test_a_librarys_own_tasks_belong_to_no_work_until_labelled() -> None:
    running = Running()

    async def request() -> str:
        before = running.current
        running.runner.work_for(Work("request GET /pods", allowance_seconds=5.0))
        assert (running.current, running.entry.allowance_seconds) == ("request GET /pods", 5.0)
        await asyncio.sleep(0)
        assert running.current == "request GET /pods"
        return before

    assert await asyncio.create_task(request()) == ""
    assert running.current == ""
