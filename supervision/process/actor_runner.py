"""Runs an actor's code: calls, tasks and timers. Any exception ends the process."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, NoReturn, Protocol

from ..messaging.channel import Flusher
from ..task_context import CURRENT, InputRecord, Work
from ..time_scale import scaled
from .status_page import StatusEntry, padded
from .steps import StepObserver, Steps
from .timers import Timers

SLOW_SECONDS = 0.05
"""The limit for a handler or a step of a coroutine; a longer one is counted."""
LOGGED_SECONDS = 1.0
_MOST_LABELS = 256
"""The size of the cache of padded labels: a label may name a pod, and pods come and go for months."""


def is_logged(seconds: float) -> bool:
    """Whether a step of this duration is logged as a warning on this machine."""
    return seconds > scaled(LOGGED_SECONDS)


class ProcessEnd(Protocol):
    """Ends the process."""

    def crash(self, message: str, error: BaseException) -> NoReturn: ...
    def exit(self, status: int) -> NoReturn: ...


class ActorRunner:
    """Runs the code of one actor, and shows its current work on the status page.

    When a library or a task creates a task on the loop itself, the status page shows it as the work of its creator.
    """

    def __init__(
        self,
        flusher: Flusher,
        status_entry: StatusEntry,
        end: ProcessEnd,
        slow: Callable[[str, float], None] = lambda label, seconds: None,
    ) -> None:
        """`slow` is called with the label and the seconds of each step longer than SLOW_SECONDS."""
        self._loop = loop = asyncio.get_running_loop()
        self._slow, self._started_at = slow, 0.0
        self._current: Work | None = None
        self.flusher, self._status_entry, self._end = flusher, status_entry, end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._padded: dict[str, bytes] = {}
        self.timers = Timers(loop.call_later, self.call)
        self._supervised_steps, self._task_steps = _Shown(self), _EndsProcess(self)
        loop.set_task_factory(self._make_task)

    def __len__(self) -> int:
        """The number of running coroutines."""
        return len(self._tasks)

    def call(self, call: Callable[[], Any], label: str) -> asyncio.Task[Any] | None:
        """Call the function; run a returned coroutine as a task."""
        work = Work(label)
        token = CURRENT.set(work)
        self.start(work)
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - let it crash
            self.failed(label, error)
        self.end()
        CURRENT.reset(token)
        if result is None or not inspect.isawaitable(result):
            return None
        return self.task(result if inspect.iscoroutine(result) else _await(result), label)

    def task(
        self, coroutine: Coroutine[Any, Any, Any], label: str, record: InputRecord | None = None
    ) -> asyncio.Task[Any]:
        """Run a coroutine as a task; its failure ends the process. `record`: see `Work`."""
        context = copy_context()
        context.run(CURRENT.set, Work(label, record))
        task = self._loop.create_task(Steps(coroutine, self._task_steps), name=label, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        steps = coroutine if isinstance(coroutine, Steps) else Steps(coroutine, self._supervised_steps)
        return asyncio.Task(steps, loop=loop, **options)

    def work_for(self, work: Work) -> None:
        """Set the subject of the running task."""
        CURRENT.set(work)
        if self._current is not None:
            self.end()
        self.start(work)

    def start(self, work: Work) -> None:
        """Show the work on the status page."""
        self._current = work
        label = work.label
        shown = self._padded.get(label)
        if shown is None:
            if len(self._padded) >= _MOST_LABELS:
                self._padded.clear()
            shown = self._padded[label] = padded(label)
        if work.record is not None:
            work.record.start()
        self._started_at = time.monotonic()
        self._status_entry.start(shown, self._started_at, work.allowance_seconds)

    def end(self) -> None:
        """The current work ends."""
        work = self._current
        if work is None:
            return
        self._current = None
        self._status_entry.end()
        if work.record is not None:
            work.record.end()
        took = time.monotonic() - self._started_at
        if took > SLOW_SECONDS:
            self._slow(work.label, took)

    def failed(self, label: str, error: BaseException) -> NoReturn:
        """End the process because of the exception; SystemExit ends it on purpose."""
        if isinstance(error, SystemExit):
            self._end.exit(error.code if isinstance(error.code, int) else int(error.code is not None))
        self._end.crash(label, error)


def kind_of(label: str) -> str:
    """The kind of a label, for counting: the type or function without its module, or the first word of `pod UID`."""
    return label.partition(" ")[0].rpartition(".")[2]


class _Shown(StepObserver):
    """The steps of a task with a caller that waits for it: the status page shows the subject of the task during a
    step."""

    def __init__(self, runner: ActorRunner) -> None:
        self._runner = runner

    def step_started(self) -> None:
        work = CURRENT.get()
        if work is not None:
            self._runner.start(work)

    def step_ended(self) -> None:
        self._runner.end()

    def step_failed(self, error: BaseException) -> None:
        self._runner.end()


class _EndsProcess(_Shown):
    """The steps of a task without a caller: its failure ends the process."""

    def step_cancelled(self, error: asyncio.CancelledError) -> None:
        """Treats an unrequested cancellation as a failure: the task would end unnoticed and its question stay
        unanswered. A library may raise CancelledError, as gRPC does when a channel is closed."""
        task = asyncio.current_task()
        if task is None or task.cancelling():
            self.step_ended()
        else:
            self.step_failed(error)

    def step_failed(self, error: BaseException) -> None:
        work = CURRENT.get()
        self._runner.failed("" if work is None else work.label, error)


async def _await(awaitable: Any) -> Any:
    return await awaitable
