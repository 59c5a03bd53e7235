"""Exec probes: a command in the container; exit code 0 is a success.

The runtime gets the timeout and ends the command then. A probe lasts until the runtime has answered, and the next one
waits for that, as in the kubelet: a runtime that is slow to end a command adds no further failure. There is no other
limit, because each command waits only for its own container.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

from actors.shared.config.fields.duration import Duration
from actors.shared.cri.errors import AnswerTooLarge, CriError, DeadlineExceeded
from actors.shared.kube.container import Container
from actors.shared.kube.go_text import quoted, rpc_error
from actors.shared.kube.handlers import ExecAction
from actors.shared.kube.variable_expansion import ExpansionError, expand_all
from supervision.time_scale import scaled

from .outcome import ProbeOutcome, error, failure, kept, success
from .probe_type import ProbeType, Subject

TOO_LARGE: Final = "rpc error: code = ResourceExhausted desc = grpc: received message larger than max"
VERSION_SECONDS: Final = 2.0
"""A runtime that does not answer Version in this time is silent."""


class ExecProbe(ProbeType[ExecAction]):
    """Over the runtime's ExecSync."""

    field: ClassVar[str] = "exec"

    async def run(self, action: ExecAction, subject: Subject) -> ProbeOutcome:
        try:
            command = command_of(action.command, subject.container)
        except ExpansionError as problem:
            return error(str(problem))
        return await self._exec(subject.container_id, command, subject.timeout_seconds)

    async def _exec(self, container_id: str, command: list[str], timeout: int) -> ProbeOutcome:
        try:
            result = await self._tools.runtime().exec_sync(container_id, command, timeout)
        except AnswerTooLarge:
            return error(TOO_LARGE)
        except DeadlineExceeded:
            return error("the runtime does not answer") if await self._is_silent() else timed_out(command, timeout)
        except CriError as problem:
            return error(rpc_error(problem.code, problem.details))
        text = kept(result.stdout + result.stderr)
        return success(text) if result.exit_code == 0 else failure(text)

    async def _is_silent(self) -> bool:
        """A runtime that answers nothing (stopped, overloaded) says nothing about the container: failures would restart
        it as soon as the runtime is back."""
        try:
            async with asyncio.timeout(scaled(VERSION_SECONDS)):
                await self._tools.runtime().version()
        except (CriError, TimeoutError):
            return True
        return False


def timed_out(command: list[str], timeout: int) -> ProbeOutcome:
    return failure(f"command timed out: {quoted(' '.join(command))} timed out after {Duration(timeout)}")


def command_of(command: list[str], container: Container) -> list[str]:
    """The command with $(NAME) replaced, from the variables whose values the manifest has; of one that comes from
    elsewhere nothing is left. Raises ExpansionError."""
    values = {variable.name: variable.value for variable in container.env}
    return expand_all(command, values)
