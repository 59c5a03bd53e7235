"""Runs a program of the host beside the loop of an actor, and ends it even if another process holds its pipes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from supervision.time_scale import scaled

PIPE, DEVNULL, STDOUT = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL, asyncio.subprocess.STDOUT
BUFFER_BYTES: Final = 64 << 10
EXIT_SECONDS: Final = 2.0
"""Seconds to wait for the end of a killed process. One that hangs in the kernel takes longer, and is reaped later."""


@asynccontextmanager
async def running(
    argv: Sequence[str],
    *,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
    stderr: int = PIPE,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the program in a session of its own. At the end of the block, the program and the processes that it started
    in that session are killed if they still run, its pipes are closed, and it is reaped.

    `Process.wait` alone waits until every pipe is closed at its other end or read to its end (CPython 3.11): a process
    with its own session that inherited a pipe, or unread output, would block the actor for ever.

    Raises OSError, and ValueError for an argument with a null byte, when the program cannot be started.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        partial(asyncio.subprocess.SubprocessStreamProtocol, limit=BUFFER_BYTES, loop=loop),
        *argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    process = asyncio.subprocess.Process(transport, protocol, loop)
    try:
        yield process
    finally:
        kill(process)
        _close_pipes(transport)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), scaled(EXIT_SECONDS))


def kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process of `running` and its process group.

    After the process has been reaped, its pid still names the group while that has members. If another process has that
    pid, the group is gone.
    """
    if process.returncode is not None and os.path.exists(f"/proc/{process.pid}"):
        return
    with suppress(OSError):  # nothing of the group is left
        os.killpg(process.pid, signal.SIGKILL)


def _close_pipes(transport: asyncio.SubprocessTransport) -> None:
    for descriptor in range(3):
        pipe = transport.get_pipe_transport(descriptor)
        if isinstance(pipe, asyncio.WriteTransport):
            if not pipe.is_closing() or pipe.get_write_buffer_size():
                pipe.abort()  # closing waits until all output is read
        elif pipe is not None:
            pipe.close()
