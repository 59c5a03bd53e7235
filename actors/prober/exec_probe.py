"""Commands in containers: at most one outstanding for each probe, and so many at once on the node (k/k#82440).

A command that outlives its probe is left to the runtime, which was told the timeout; until it is over, the probe fails
without another one being started, and its place is given to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final, Protocol

from actors.shared.cri.errors import CriError, DeadlineExceeded
from actors.shared.cri.model import ExecResult, RuntimeVersion

from .outcome import Outcome, error, failure, kept, success, timed_out

AT_ONCE: Final = 8
SLACK_SECONDS: Final = 1.0
"""How much longer than its timeout the runtime may take to say that a command was stopped."""
ANSWER_SECONDS: Final = 2.0
"""A runtime that is well has told its version by then."""


class Runtime(Protocol):
    """The part of the CRI client that is used here."""

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_seconds: int = 0) -> ExecResult: ...

    async def version(self) -> RuntimeVersion: ...


class Starter(Protocol):
    """Actor.start_task."""

    def __call__(self, coroutine: Coroutine[Any, Any, Any], name: str = "") -> asyncio.Task[Any]: ...


class ExecProbes:
    """All of the node. The cap is a queue: who waits longest goes first."""

    def __init__(self, runtime: Runtime, start: Starter, at_once: int = AT_ONCE) -> None:
        self._runtime, self._start = runtime, start
        self._places = asyncio.Semaphore(at_once)
        self._outstanding: dict[tuple[str, ...], asyncio.Task[Outcome]] = {}

    @property
    def outstanding(self) -> int:
        return len(self._outstanding)

    async def probe(self, key: tuple[str, ...], container_id: str, command: list[str], timeout: int) -> Outcome:
        """One command, for the probe `key`."""
        if key in self._outstanding:
            late = failure("the command of an earlier probe is still running")
            return await self._unless_silent(self._outstanding[key], late)
        async with self._places:
            task = self._outstanding[key] = self._start(self._run(container_id, command, timeout), f"exec {key}")
            task.add_done_callback(lambda _: self._outstanding.pop(key, None))
            done, _ = await asyncio.wait([task], timeout=timeout + SLACK_SECONDS)
        return task.result() if done else await self._unless_silent(task, timed_out(timeout))

    async def _unless_silent(self, task: asyncio.Task[Outcome], late: Outcome) -> Outcome:
        """What to make of a command that is late. A runtime that answers nothing (stopped, overloaded) says nothing of
        the container: a failure would have it restarted as soon as the runtime is back."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._runtime.version()
        except (CriError, TimeoutError):
            return error("the runtime does not answer")
        # when it has just come back, so does the command's end
        await asyncio.wait([task], timeout=SLACK_SECONDS)
        return task.result() if task.done() else late

    async def _run(self, container_id: str, command: list[str], timeout: int) -> Outcome:
        try:
            result = await self._runtime.exec_sync(container_id, command, timeout)
        except DeadlineExceeded:
            return failure(f'command "{" ".join(command)[:200]}" timed out after {timeout} s')
        except CriError as problem:
            return error(str(problem))
        text = kept(result.stdout + result.stderr)
        return success(text) if result.exit_code == 0 else failure(text or f"exit code {result.exit_code}")
