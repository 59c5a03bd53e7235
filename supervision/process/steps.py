"""Runs a coroutine and notifies an observer of each step: before it runs, after it, and when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol


class StepObserver(Protocol):
    """Gets a call for each step."""

    def step_started(self) -> None: ...
    def step_ended(self) -> None: ...
    def step_failed(self, error: BaseException) -> None:
        """Called instead of `step_ended` if the step raised. When it returns, the exception propagates to the
        caller."""

    def step_cancelled(self, error: asyncio.CancelledError) -> None:
        """Called if the coroutine was cancelled. The cancellation propagates to the caller."""
        self.step_ended()


class Steps(Coroutine[Any, Any, Any]):
    """An awaitable that runs the given coroutine step by step."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], observer: StepObserver) -> None:
        self._coroutine, self._observer = coroutine, observer

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def _step(self, step: Callable[..., Any], *values: Any) -> Any:
        observer = self._observer
        observer.step_started()
        try:
            result = step(*values)
        except StopIteration:
            observer.step_ended()
            raise
        except asyncio.CancelledError as error:
            observer.step_cancelled(error)
            raise
        except BaseException as error:
            observer.step_failed(error)
            raise
        observer.step_ended()
        return result
