"""Finds out, in a disposable process, whether a disk hangs: the fork server writes to no disk that does not answer.
Nobody could end its wait in the kernel, and all supervision would wait with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import msgspec

from ..hanging_disks import ANSWER_SECONDS, HANGS
from ..process_messages import DisposableResult, RunDisposable
from ..protocol import FORK_SERVER
from ..time_scale import scaled

_TOUCH: Final = "supervision.hanging_disks:touch"
_LOOK: Final = "supervision.hanging_disks:look"

Guard = Callable[[Callable[[str], None]], None]
"""Calls with the reason not to use a disk now, later; '' if it answers."""
Run = Callable[[str, RunDisposable, Callable[[DisposableResult], None]], None]


class DiskCheck:
    """Checks the disk of one file. `run`: of `Disposables`; `writes`: whether the file is to be written, else looked
    at."""

    def __init__(self, run: Run, path: os.PathLike[str] | str, *, writes: bool = True) -> None:
        self._run, self._arguments = run, msgspec.msgpack.encode({"path": os.path.abspath(path)})
        self._function = _TOUCH if writes else _LOOK

    def __call__(self, answer: Callable[[str], None]) -> None:
        """`answer` gets the reason not to write now; '' if the disk answers, also with an error, or if no process can
        be made: what is wrong then, the writer finds."""
        order = RunDisposable(function=self._function, arguments=self._arguments, deadline=scaled(ANSWER_SECONDS))
        self._run(FORK_SERVER, order, lambda result: answer("" if _has_answered(result) else HANGS))


def _has_answered(result: DisposableResult) -> bool:
    return not result.timed_out and (not result.kind or result.errno != 0)
