"""Runs an actor's code: calls, tasks and timers. Any exception ends the process."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn, Protocol

from .channel import Flusher
from .status_page import StatusEntry, padded
from .timers import Timers

SLOW_SECONDS = 0.05
"""The limit for a handler or a step of a coroutine; a longer one is logged."""
_MOST_LABELS = 256
"""The size of the cache of padded labels: a label may name a pod, and pods come and go for months."""


class End(Protocol):
    """Ends the process."""

    def crash(self, message: str, error: BaseException) -> NoReturn: ...
    def exit(self, status: int) -> NoReturn: ...


class Runner:
    """Runs the code of one actor. `label` is shown on the status page: a message type, or a function's name."""

    def __init__(
        self,
        flusher: Flusher,
        status_entry: StatusEntry,
        end: End,
        slow: Callable[[str, float], None] = lambda label, seconds: None,
    ) -> None:
        """`slow` is called with the label and the seconds of each step longer than SLOW_SECONDS."""
        self._loop = loop = asyncio.get_running_loop()
        self._slow, self._began = slow, 0.0
        self.flusher, self._status_entry, self._end = flusher, status_entry, end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._padded: dict[str, bytes] = {}
        self.timers = Timers(loop.call_later, self.call)

    def __len__(self) -> int:
        """The number of running coroutines."""
        return len(self._tasks)

    def call(self, call: Callable[[], Any], label: str) -> asyncio.Task[Any] | None:
        """Call the function; run a returned coroutine as a task."""
        self.begin(label)
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - let it crash
            self.failed(label, error)
        self.end(label)
        if result is None or not inspect.isawaitable(result):
            return None
        return self.task(result if inspect.iscoroutine(result) else _await(result), label)

    def task(self, coroutine: Coroutine[Any, Any, Any], label: str) -> asyncio.Task[Any]:
        """Run a coroutine as a task."""
        task = self._loop.create_task(_Steps(coroutine, label, self), name=label)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def begin(self, label: str) -> None:
        """Show the label on the status page."""
        shown = self._padded.get(label)
        if shown is None:
            if len(self._padded) >= _MOST_LABELS:
                self._padded.clear()
            shown = self._padded[label] = padded(label)
        self._began = time.monotonic()
        self._status_entry.begin(shown, self._began)

    def end(self, label: str) -> None:
        self._status_entry.end()
        took = time.monotonic() - self._began
        if took > SLOW_SECONDS:
            self._slow(label, took)

    def failed(self, label: str, error: BaseException) -> NoReturn:
        """End the process because of the exception; SystemExit ends it on purpose."""
        if isinstance(error, SystemExit):
            self._end.exit(error.code if isinstance(error.code, int) else int(error.code is not None))
        self._end.crash(label, error)


def kind_of(label: str) -> str:
    """The kind of a label, for counting: the type or function without its module, or the first word of `pod UID`."""
    return label.partition(" ")[0].rpartition(".")[2]


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine: each of its steps is shown on the status page, and its failure ends the process."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], label: str, runner: Runner) -> None:
        self._coroutine, self._label, self._runner = coroutine, label, runner

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def _step(self, step: Callable[..., Any], *values: Any) -> Any:
        self._runner.begin(self._label)
        try:
            return step(*values)
        except (StopIteration, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - let it crash
            self._runner.failed(self._label, error)
        finally:
            self._runner.end(self._label)


async def _await(awaitable: Any) -> Any:
    return await awaitable
