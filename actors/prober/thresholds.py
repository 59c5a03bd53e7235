"""From outcomes to a result that counts: so many in a row (API reference, Probe). A pure state table.

outcome   in a row < threshold   in a row = threshold                          result there already
error     nothing                nothing                                       nothing
success   count                  result True; a startup probe is then done     count
failure   count                  result False; liveness and startup are held   count
"""

from __future__ import annotations

from typing import Literal

import msgspec

from actors.shared.kube.container import Probe

from .outcome import Outcome

Kind = Literal["liveness", "readiness", "startup"]


class Streak(msgspec.Struct, frozen=True):
    """One probe of one container."""

    result: bool | None = None
    """What counts now; None: not known yet."""
    last: bool | None = None
    """What the newest outcomes are, `count` of them in a row."""
    count: int = 0
    held: bool = False
    """Not probed again: the container is to be killed, or has started."""


def decide(streak: Streak, outcome: Outcome, kind: Kind, probe: Probe) -> Streak:
    """The streak after one more outcome."""
    if outcome.result == "error" or streak.held:
        return streak
    good = outcome.result == "success"
    count = streak.count + 1 if good is streak.last else 1
    threshold = max(1, probe.successThreshold if good else probe.failureThreshold)
    if count < threshold:
        return Streak(streak.result, good, count)
    held = kind == "startup" or (kind == "liveness" and not good)
    # the count stays at the threshold, so that it does not grow for ever
    return Streak(good, good, threshold, held)
