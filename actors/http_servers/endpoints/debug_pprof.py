"""/debug/pprof/: profiles of this server's process, as text: collapsed stacks, which flame graph tools read."""

from __future__ import annotations

import asyncio
import gc
import io
import signal
import sys
import traceback
from collections import Counter
from types import FrameType
from typing import Final

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError

PAGES: Final = {
    "cmdline": "the command line",
    "goroutine": "the stacks of all tasks",
    "heap": "how many objects there are of each type",
    "profile": "where processor time goes, ?seconds=30",
    "trace": "the same as profile, ?seconds=1",
}
INTERVAL_SECONDS: Final = 0.01
_MOST_SECONDS: Final = 120.0
_MOST_DEPTH: Final = 64
_TYPES: Final = 100


async def get(handler: ServerHandler, profile: str = "") -> None:
    name = profile
    if name in ("profile", "trace"):
        await _profile(handler, "30" if name == "profile" else "1")
    elif name == "cmdline":
        await handler.finish(" ".join(sys.orig_argv))
    elif name == "heap":
        await handler.finish(heap())
    elif name == "goroutine":
        await handler.finish(tasks())
    elif name == "symbol":
        await handler.finish("num_symbols: 0\n")
    elif name in ("", "index"):
        await handler.finish("".join(f"{one:<12}{about}\n" for one, about in PAGES.items()))
    else:
        raise HttpError(404, f"Unknown profile {name[:40]!r}")


async def _profile(handler: ServerHandler, usual: str) -> None:
    try:
        seconds = float(handler.get_query_argument("seconds", usual))
    except ValueError:
        seconds = float(usual)
    if signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, signal.SIG_IGN, None):
        raise HttpError(500, "Could not enable CPU profiling: cpu profiling already in use")
    if not 0 < seconds <= _MOST_SECONDS:
        raise HttpError(400, f"seconds must be above 0 and at most {_MOST_SECONDS:.0f}")
    stacks: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        stacks[collapsed(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
    try:
        await asyncio.sleep(seconds)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    await handler.finish("".join(f"{stack} {count}\n" for stack, count in stacks.most_common()))


def collapsed(frame: FrameType | None) -> str:
    """`outer;inner;innermost`."""
    found: list[str] = []
    while frame is not None and len(found) < _MOST_DEPTH:
        code = frame.f_code
        found.append(f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(found))


def heap() -> str:
    """Objects of the garbage collector, by type."""
    counted = Counter(type(one).__qualname__ for one in gc.get_objects())
    return "".join(f"{count:>10} {name}\n" for name, count in counted.most_common(_TYPES))


def tasks() -> str:
    """The stacks of all tasks and threads."""
    out = io.StringIO()
    for task in asyncio.all_tasks():
        task.print_stack(file=out)
    for number, frame in sys._current_frames().items():
        out.write(f"\nthread {number}\n" + "".join(traceback.format_stack(frame)))
    return out.getvalue()


ENDPOINT = Endpoint(
    paths=("/debug/pprof", "/debug/pprof/{profile}"),
    answers={"GET": get},
    switch=lambda config: config.enableProfilingHandler,
    answers_405_when_disabled=True,
    long_running=True,
)
