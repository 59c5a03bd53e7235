"""A disposable process: runs a function, for system calls that may hang, and writes its result to a file in memory, so
that no process waits on a pipe."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from .. import logs
from ..class_names import load
from ..errors import UNREADABLE, error_text
from ..process_messages import DisposableResult, RunDisposable
from ..readable_texts import packed
from .fork import fork


class _Failure(msgspec.Struct):
    kind: str
    text: str
    errno: int


class _Outcome(msgspec.Struct):
    result: bytes = b""
    failure: _Failure | None = None


def start(order: RunDisposable, private_fds: Sequence[int]) -> tuple[int, int]:
    """Fork the process. Returns its PID, and the descriptor of its result. Raises OSError."""
    output = os.memfd_create("disposable")
    try:
        return fork("disposable", lambda: _perform(order, output), list(private_fds)), output
    except OSError:
        os.close(output)
        raise


def result_of(order: RunDisposable, output: int, status: int, why: str) -> DisposableResult:
    """The result of a process that has ended. `status`: as os.waitpid gives it. `why`: of its kill, if it is known."""
    data = os.pread(output, os.fstat(output).st_size, 0)
    if status != 0 or not data:
        text = f"{order.function} ended with wait status {status}{f': {why}' if why else ''}"
        return DisposableResult(kind="Died", text=text)
    try:
        outcome = msgspec.msgpack.decode(data, type=_Outcome)
    except UNREADABLE as error:
        return DisposableResult(kind="Died", text=f"{order.function} left what cannot be read: {error}")
    if outcome.failure is not None:
        failure = outcome.failure
        return DisposableResult(kind=failure.kind, text=failure.text, errno=failure.errno)
    return DisposableResult(outcome.result)


def _perform(order: RunDisposable, output: int) -> None:
    """Runs in the child."""
    try:
        function = load(order.function)
        outcome = _Outcome(packed(function(**msgspec.msgpack.decode(order.arguments))))
    except BaseException as error:  # noqa: BLE001 - it is the result
        number = error.errno if isinstance(error, OSError) else None
        outcome = _Outcome(failure=_Failure(type(error).__name__, error_text(error), number or 0))
    data = memoryview(packed(outcome))
    while data:
        data = data[os.write(output, data) :]
    logs.flush()
    os._exit(0)
