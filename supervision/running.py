"""How an actor's code is run: calls, tasks and timers, where whatever is raised ends the process."""

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
"""No handler, and no step of a coroutine, is to hold the loop for longer."""
_MOST_LABELS = 256
"""So many are kept as the status page wants them: a label may name a pod, and pods come and go for months."""


class End(Protocol):
    """How the process ends."""

    def crash(self, message: str, error: BaseException) -> NoReturn: ...
    def exit(self, status: int) -> NoReturn: ...


class Runner:
    """Runs the code of one actor. `label` is what is shown as in hand: a message type, or a function's name."""

    def __init__(
        self,
        flusher: Flusher,
        status_entry: StatusEntry,
        end: End,
        slow: Callable[[str, float], None] = lambda label, seconds: None,
    ) -> None:
        """`slow` is told the label and the seconds of what held the loop for longer than SLOW_SECONDS."""
        self._loop = loop = asyncio.get_running_loop()
        self._slow, self._began = slow, 0.0
        self.flusher, self._status_entry, self._end = flusher, status_entry, end
        self._tasks: set[asyncio.Task[Any]] = set()
        self._padded: dict[str, bytes] = {}
        self.timers = Timers(loop.call_later, self.call)

    def __len__(self) -> int:
        """Coroutines that have not ended."""
        return len(self._tasks)

    def call(self, call: Callable[[], Any], label: str) -> asyncio.Task[Any] | None:
        """Call; what turns out to be a coroutine goes on as a task."""
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
        """Run a coroutine beside the rest."""
        task = self._loop.create_task(_Steps(coroutine, label, self), name=label)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def begin(self, label: str) -> None:
        """Show what is in hand."""
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
        """End the process for what was raised; SystemExit is a way to end it on purpose."""
        if isinstance(error, SystemExit):
            self._end.exit(error.code if isinstance(error.code, int) else int(error.code is not None))
        self._end.crash(label, error)


def kind_of(label: str) -> str:
    """What a label is of, for counting: the type or function without its module, of `pod UID` the first word."""
    return label.partition(" ")[0].rpartition(".")[2]


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is shown as in hand, and whose failure ends the process."""

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
