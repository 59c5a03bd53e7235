"""Runs a coroutine and tells an observer of each step: before it runs, after it, and when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol


class StepObserver(Protocol):
    """Is told of each step."""

    def begins(self) -> None: ...
    def ends(self) -> None: ...
    def fails(self, error: BaseException) -> None:
        """Called instead of `ends` if the step raised. When it returns, the exception goes on to the caller."""

    def cancelled(self, error: asyncio.CancelledError) -> None:
        """Called if the coroutine was cancelled. The cancellation goes on to the caller."""
        self.ends()


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
        observer.begins()
        try:
            result = step(*values)
        except StopIteration:
            observer.ends()
            raise
        except asyncio.CancelledError as error:
            observer.cancelled(error)
            raise
        except BaseException as error:
            observer.fails(error)
            raise
        observer.ends()
        return result
