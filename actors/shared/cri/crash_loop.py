"""The crash-loop backoff: when a container may be started again. Pure.

An annotation of each container holds its number of consecutive restarts, so the backoff survives a restart of the
agent. For a container of another agent the restart count is used.
"""

from __future__ import annotations

import re

from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW
from supervision.backoff import RetrySchedule

_COUNT = re.compile("[0-9]{1,9}")

FIRST_SECONDS = 10.0
SKEW_SECONDS = 5.0
RESET_SECONDS = 600.0
"""A container that ran for longer than this has no backoff, for any maximum."""


def pause_after(count: int, maximum: float) -> float:
    """Backoff in seconds after `count` consecutive restarts: first none, then 10 s, doubled each time."""
    return RetrySchedule(FIRST_SECONDS, maximum).pause(count)


def consecutive_restarts(last: CriContainer) -> int:
    """Number of restarts without a long run in between; this run counts unless it was long."""
    if last.started_ns and last.finished_ns - last.started_ns > RESET_SECONDS * 1e9:
        return 0
    text = last.annotations.get(CONTAINER_RESTARTS_IN_A_ROW, "")
    return int(text) if _COUNT.fullmatch(text) else last.restart_count


def next_consecutive_restarts(last: CriContainer, *, changed: bool = False) -> int:
    """The number for the next instance. `changed`: it has another image or other resources, and starts from zero."""
    return 1 if changed else consecutive_restarts(last) + 1


def is_delayed_after_kill(last: CriContainer, previous: CriContainer | None, maximum: float) -> bool:
    """Whether the backoff applies to the instance after `last`, which was killed for a restart. As in the kubelet, the
    backoff counts from the end of `previous`, the last end known at the kill. Once `previous` is garbage-collected, the
    usual rule applies."""
    if previous is None:
        return last.restart_count > 0
    pause = pause_after(consecutive_restarts(last), maximum)
    return last.finished_ns / 1e9 < previous.finished_ns / 1e9 + pause


def start_not_before(last: CriContainer | None, maximum: float, now: float) -> float:
    """Time in seconds since 1970 at which the next instance may start; 0: at once.

    An end later than `now` means that the clock was set back. The length of the wait is then unknown: start at once.
    """
    if last is None or last.state is not CriContainerState.EXITED:
        return 0.0
    pause = pause_after(consecutive_restarts(last), maximum)
    ended = (last.finished_ns or last.created_ns) / 1e9
    if not pause or ended > now + SKEW_SECONDS:
        return 0.0
    return ended + pause
