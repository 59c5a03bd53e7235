"""`supervise stop`: stops the agent in order and waits until it has ended."""

from __future__ import annotations

import time

from ..process_stat import is_alive
from ..protocol import Done, Shutdown
from .command import NO_ANSWER, OK, REFUSED, CommandError, Context, OtherVersionError

_POLL_SECONDS = 0.02


def run(context: Context) -> int:
    pid = _pid(context)
    started_at = time.monotonic()
    done = context.ask(Shutdown(), Done)
    if done.error:
        raise CommandError(REFUSED, done.error)
    if context.arguments.no_wait:
        context.show({"stopped": False, "pid": pid}, f"stopping, pid {pid}")
        return OK
    while is_alive(pid):
        if time.monotonic() - started_at > context.arguments.wait:
            raise CommandError(
                NO_ANSWER,
                f"pid {pid} has not stopped after {context.arguments.wait:g} s: `supervise tree` shows who is "
                f"left, `kill -TERM {pid}` ends all at once",
            )
        time.sleep(_POLL_SECONDS)
    seconds = time.monotonic() - started_at
    context.show({"stopped": True, "pid": pid, "seconds": round(seconds, 3)}, f"stopped after {seconds:.1f} s")
    return OK


def _pid(context: Context) -> int:
    """The fork server's pid, which an agent of another version does not tell in a form that can be read. Raises
    CommandError."""
    try:
        return context.tree().pid
    except OtherVersionError:
        if pid := context.fork_server_pid():
            return pid
        raise
