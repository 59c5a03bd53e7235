"""Stacks of this process, and profiles made of them."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import NamedTuple

import msgspec

_MOST_DEPTH = 64
_TYPES = 100


class StackFrame(NamedTuple):
    """A place in a function."""

    function: str
    path: str
    """The path of the source file; '' for a type of objects."""
    first_line: int = 0
    """The function's first line."""
    line: int = 0


Stack = tuple[StackFrame, ...]
"""The innermost frame first."""


class ValueKind(NamedTuple):
    """The kind and unit of a value, by pprof's names."""

    name: str
    unit: str


class StackProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Values for each stack."""

    kinds: tuple[ValueKind, ...]
    samples: Mapping[Stack, tuple[int, ...]]
    """A value for each of `kinds`."""
    period: tuple[ValueKind, int] | None = None
    """The kind and unit of the interval between two samples."""
    seconds: float = 0.0
    """How long samples were taken; 0: the profile shows one moment."""


def of_frame(frame: FrameType | None) -> Stack:
    """The frame and its callers, at most 64."""
    found: list[StackFrame] = []
    while frame is not None and len(found) < _MOST_DEPTH:
        code = frame.f_code
        found.append(StackFrame(code.co_qualname, code.co_filename, code.co_firstlineno, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def of_tasks() -> StackProfile:
    """The number of tasks and threads at each stack; they correspond to Go's goroutines."""
    tasks = (_of_frames(reversed(task.get_stack(limit=_MOST_DEPTH))) for task in asyncio.all_tasks())
    return _count_profile("goroutine", Counter((*tasks, *_threads())))


def of_threads() -> StackProfile:
    return _count_profile("threadcreate", Counter(_threads()))


def of_objects() -> StackProfile:
    """The garbage collector's objects by type, the hundred most frequent types: their number, and their bytes without
    the objects that they refer to."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in gc.get_objects():
        kind = type(one)
        name = f"{kind.__module__}.{kind.__qualname__}"
        counts[name] += 1
        sizes[name] += sys.getsizeof(one, 0)
    return StackProfile(
        kinds=(ValueKind("inuse_objects", "count"), ValueKind("inuse_space", "bytes")),
        samples={(StackFrame(name, ""),): (count, sizes[name]) for name, count in counts.most_common(_TYPES)},
    )


def of_contention() -> StackProfile:
    """Empty: nothing waits for a lock in a process of one thread."""
    return StackProfile(kinds=(ValueKind("contentions", "count"), ValueKind("delay", "nanoseconds")), samples={})


def _count_profile(name: str, stacks: Counter[Stack]) -> StackProfile:
    return StackProfile(
        kinds=(ValueKind(name, "count"),), samples={stack: (count,) for stack, count in stacks.most_common()}
    )


def _threads() -> list[Stack]:
    return [of_frame(frame) for frame in sys._current_frames().values()]


def _of_frames(frames: Iterable[FrameType]) -> Stack:
    return tuple(place for frame in frames for place in of_frame(frame)[:1])
