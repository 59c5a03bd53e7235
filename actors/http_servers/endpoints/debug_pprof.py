"""/debug/pprof/: profiles of this server's process, by the names of Go's net/http/pprof and in pprof's form, so that
`go tool pprof` reads them. `?debug=1` gives lines of text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from actors.http_servers.profiling import pprof, processor_time, stacks, text
from actors.http_servers.profiling.processor_time import ProfilingInUse
from actors.http_servers.profiling.stacks import StackProfile
from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError

PAGES: Final = {
    "allocs": "the same as heap: freed objects are not recorded",
    "block": "empty: nothing waits for a lock in a process of one thread",
    "cmdline": "the command line",
    "goroutine": "the stacks of all tasks and threads",
    "heap": "how many objects there are of each type, and their size",
    "mutex": "the same as block",
    "profile": "where processor time goes, ?seconds=30",
    "threadcreate": "the stacks of all threads",
}
_OF_NOW: Final[dict[str, Callable[[], StackProfile]]] = {
    "allocs": stacks.of_objects,
    "block": stacks.of_contention,
    "goroutine": stacks.of_tasks,
    "heap": stacks.of_objects,
    "mutex": stacks.of_contention,
    "threadcreate": stacks.of_threads,
}
_USUAL_SECONDS: Final = 30.0
_MOST_SECONDS: Final = 120.0


async def get(handler: ServerHandler, profile: str = "") -> None:
    if profile == "profile":
        await _send(handler, profile, await _processor_time(handler))
    elif make := _OF_NOW.get(profile):
        await _send(handler, profile, make())
    elif profile == "cmdline":
        handler.set_header("Content-Type", "text/plain; charset=utf-8")
        await handler.finish("\0".join(sys.orig_argv))
    elif profile == "symbol":
        await handler.finish("num_symbols: 0\n")
    elif profile == "trace":
        raise HttpError(404, "there is no execution trace, a feature of Go's scheduler. See profile, or tracing\n")
    elif profile in ("", "index"):
        await handler.finish("".join(f"{one:<14}{about}\n" for one, about in PAGES.items()))
    else:
        raise HttpError(404, f"Unknown profile {profile[:40]!r}\n")


async def _processor_time(handler: ServerHandler) -> StackProfile:
    try:
        seconds = float(handler.get_query_argument("seconds", "") or _USUAL_SECONDS)
    except ValueError:
        seconds = _USUAL_SECONDS
    if not 0 < seconds <= _MOST_SECONDS:
        raise HttpError(400, f"seconds must be above 0 and at most {_MOST_SECONDS:.0f}\n")
    try:
        return await processor_time.sample(seconds)
    except ProfilingInUse:
        raise HttpError(500, "Could not enable CPU profiling: cpu profiling already in use\n") from None


async def _send(handler: ServerHandler, name: str, profile: StackProfile) -> None:
    handler.set_header("X-Content-Type-Options", "nosniff")
    if handler.get_query_argument("debug", "0") not in ("", "0"):
        handler.set_header("Content-Type", "text/plain; charset=utf-8")
        await handler.finish(text.lines(profile))
        return
    handler.set_header("Content-Type", "application/octet-stream")
    handler.set_header("Content-Disposition", f'attachment; filename="{name}"')
    await handler.finish(pprof.encoded(profile, time.time() - profile.seconds))


ENDPOINT = Endpoint(
    paths=("/debug/pprof", "/debug/pprof/{profile}"),
    answers={"GET": get},
    switch=lambda config: config.enableProfilingHandler,
    what="profiling",
    answers_405_when_disabled=True,
    long_running=True,
)
