"""When a container that ended is started again, if its restart policy wants it: the crash-loop backoff. Pure.

Each container carries in an annotation how many consecutive restarts led to it, so that the backoff goes on as it was
after a restart of the agent. One that another agent made has its restart count instead.
"""

from __future__ import annotations

import re

from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import ContainerState
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW
from supervision.backoff import RetrySchedule

_COUNT = re.compile("[0-9]{1,9}")

FIRST_SECONDS = 10.0
SKEW_SECONDS = 5.0
RESET_SECONDS = 600.0
"""A container that ran for longer has no backoff (fixed, whatever the maximum is)."""


def pause_after(count: int, maximum: float) -> float:
    """Seconds after that many consecutive restarts: none after the first, then 10 s doubling."""
    return RetrySchedule(FIRST_SECONDS, maximum).pause(count)


def consecutive_restarts(last: Ran) -> int:
    """How many restarts without a long run between them led to this run, itself included when it was no long one."""
    if last.started_ns and last.finished_ns - last.started_ns > RESET_SECONDS * 1e9:
        return 0
    text = last.annotations.get(CONTAINER_RESTARTS_IN_A_ROW, "")
    return int(text) if _COUNT.fullmatch(text) else last.restart_count


def next_consecutive_restarts(last: Ran, *, mended: bool = False) -> int:
    """Of the instance that follows; `mended`: with another image or other resources, which is a new beginning."""
    return 1 if mended else consecutive_restarts(last) + 1


def is_delayed_after_kill(last: Ran, previous: Ran | None, maximum: float) -> bool:
    """Whether the instance after one that was killed in order to be restarted has to wait. As in the reference, the
    pause counts from the end of the instance before it, as that is the last end that was known at the kill. Once that
    one is collected it counts as for any other."""
    if previous is None:
        return last.restart_count > 0
    pause = pause_after(consecutive_restarts(last), maximum)
    return last.finished_ns / 1e9 < previous.finished_ns / 1e9 + pause


def start_not_before(last: Ran | None, maximum: float, now: float) -> float:
    """Seconds since 1970 at which the instance after this one may start; 0: at once.

    One that ends later than `now` ended before the clock was set back, by who knows how much: it has waited enough.
    """
    if last is None or last.state is not ContainerState.EXITED:
        return 0.0
    pause = pause_after(consecutive_restarts(last), maximum)
    ended = (last.finished_ns or last.created_ns) / 1e9
    if not pause or ended > now + SKEW_SECONDS:
        return 0.0
    return ended + pause
