"""Which of a task's calls to the runtime are slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.shared.cri.calls_in_progress import SLOW_SECONDS, CallsInProgress, watched


class _TimersByHand:
    """Time of the test, and its timers."""

    def __init__(self) -> None:
        self.now = 100.0
        self._due: dict[int, tuple[float, Callable[[], None]]] = {}
        self._made = 0

    def after(self, seconds: float, call: Callable[[], None]) -> _DueTimer:
        self._made += 1
        self._due[self._made] = (self.now + seconds, call)
        return _DueTimer(self._due, self._made)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for number, (at, call) in sorted(self._due.items()):
            if at <= self.now:
                del self._due[number]
                call()

    @property
    def waiting(self) -> int:
        return len(self._due)


class _DueTimer:
    def __init__(self, due: dict[int, tuple[float, Callable[[], None]]], number: int) -> None:
        self._due, self._number = due, number

    def cancel(self) -> None:
        self._due.pop(self._number, None)


def test_the_oldest_slow_call_of_a_task_and_its_tasks_is_known_until_it_is_answered() -> None:
    clock, told = _TimersByHand(), list[tuple[str, float]]()
    calls = CallsInProgress(clock.after, lambda: clock.now, lambda: told.append(calls.oldest))

    async def story() -> None:
        calls.watch()
        first, second = asyncio.Event(), asyncio.Event()

        async def call(method: str, answered: asyncio.Event) -> None:
            with watched(method):
                await answered.wait()

        tasks = [asyncio.create_task(call("RunPodSandbox", first))]
        await asyncio.sleep(0)
        clock.advance(1.0)
        tasks.append(asyncio.create_task(call("PullImage", second)))
        await asyncio.sleep(0)
        assert (told, clock.waiting) == ([], 2)
        clock.advance(SLOW_SECONDS)
        assert told == [("RunPodSandbox", 100.0)]
        first.set()
        await tasks[0]
        assert told[1:] == [("PullImage", 101.0)]
        second.set()
        await tasks[1]
        assert told[2:] == [("", 0.0)]

    asyncio.run(story())


def test_a_call_that_is_answered_soon_is_not_reported_and_leaves_no_timer() -> None:
    clock, told = _TimersByHand(), list[tuple[str, float]]()
    calls = CallsInProgress(clock.after, lambda: clock.now, lambda: told.append(calls.oldest))

    async def story() -> None:
        calls.watch()
        with watched("StartContainer"):
            clock.advance(SLOW_SECONDS / 2)

    asyncio.run(story())
    clock.advance(SLOW_SECONDS)
    assert (told, clock.waiting) == ([], 0)


def test_a_call_of_a_task_that_nobody_watches_is_only_made() -> None:
    async def story() -> str:
        with watched("Status"):
            return "answer"

    assert asyncio.run(story()) == "answer"
