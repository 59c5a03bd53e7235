"""Exec probes: a command in the container; exit code 0 is a success.

Each probe has at most one command under way: a command that outlives its probe is left to the runtime, which was told
the timeout, and until it has ended the probe fails without another one being started. There is no other cap, as each
command waits for its own container only.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from actors.shared.config.fields.duration import Duration
from actors.shared.cri.errors import AnswerTooLarge, CriError, DeadlineExceeded
from actors.shared.kube.container import Container, ExecAction
from actors.shared.kube.expansion import ExpansionError, expand_all
from actors.shared.kube.go_text import rpc_error
from supervision.time_scale import scaled

from .outcome import ProbeOutcome, error, failure, kept, success
from .probe_type import Key, ProbeTools, ProbeType, Subject

SLACK_SECONDS: Final = 1.0
"""How much longer than its timeout the runtime may take to say that a command was stopped."""
TOO_LARGE: Final = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max"
VERSION_SECONDS: Final = 2.0
"""A runtime that does not answer Version in this time is silent."""


class ExecProbe(ProbeType[ExecAction]):
    """Over the runtime's ExecSync."""

    field: ClassVar[str] = "exec"

    def __init__(self, tools: ProbeTools) -> None:
        super().__init__(tools)
        self._under_way: dict[tuple[Key, str], asyncio.Task[ProbeOutcome]] = {}
        """By probe and container id."""

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    async def run(self, action: ExecAction, subject: Subject) -> ProbeOutcome:
        key = (subject.key, subject.container_id)
        if key in self._under_way:
            late = failure("the command of an earlier probe is still running")
            return await self._unless_silent(self._under_way[key], late)
        try:
            command = command_of(action.command, subject.container)
        except ExpansionError as problem:
            return error(str(problem))
        timeout = subject.timeout_seconds
        running = self._exec(subject.container_id, command, timeout)
        task = self._tools.start_task(running, f"exec {subject.key}")
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        done, _ = await asyncio.wait([task], timeout=timeout + SLACK_SECONDS)
        return task.result() if done else await self._unless_silent(task, timed_out(command, timeout))

    async def _unless_silent(self, task: asyncio.Task[ProbeOutcome], late: ProbeOutcome) -> ProbeOutcome:
        """`late`, the outcome of a command that has not ended in time. A runtime that answers nothing (stopped,
        overloaded) says nothing about the container: a failure would restart it as soon as the runtime is back."""
        try:
            async with asyncio.timeout(scaled(VERSION_SECONDS)):
                await self._tools.runtime().version()
        except (CriError, TimeoutError):
            return error("the runtime does not answer")
        # a runtime that has just come back ends the command now
        await asyncio.wait([task], timeout=scaled(SLACK_SECONDS))
        return task.result() if task.done() else late

    async def _exec(self, container_id: str, command: list[str], timeout: int) -> ProbeOutcome:
        try:
            result = await self._tools.runtime().exec_sync(container_id, command, timeout)
        except AnswerTooLarge:
            return error(TOO_LARGE)
        except DeadlineExceeded:
            return timed_out(command, timeout)
        except CriError as problem:
            return error(rpc_error(problem.code, problem.details))
        text = kept(result.stdout + result.stderr)
        return success(text) if result.exit_code == 0 else failure(text)


def timed_out(command: list[str], timeout: int) -> ProbeOutcome:
    return failure(f'command timed out: "{" ".join(command)[:200]}" timed out after {Duration(timeout)}')


def command_of(command: list[str], container: Container) -> list[str]:
    """The command with $(NAME) replaced, from the variables whose values the manifest has; of one that comes from
    elsewhere nothing is left. Raises ExpansionError."""
    values = {variable.name: variable.value for variable in container.env}
    return expand_all(command, values)
