"""The result of a probe from its outcomes, by successThreshold and failureThreshold (API reference, Probe). Pure.

| outcome | fewer in a row than the threshold | as many as the threshold |
|---|---|---|
| error | nothing | nothing |
| success | count | result True; a startup probe is put on hold |
| failure | count | result False; liveness and startup are put on hold |
"""

from __future__ import annotations

import msgspec

from actors.shared.kube.handlers import Probe

from .outcome import ProbeOutcome
from .probe_type import Kind


class Streak(msgspec.Struct, frozen=True):
    """The outcomes of one probe of one container."""

    result: bool | None = None
    """The current result; None: not known yet."""
    last: bool | None = None
    """The newest outcome that was no error."""
    count: int = 0
    """How many in a row were `last`, up to the threshold."""
    on_hold: bool = False
    """On hold until there is another container instance: this one will be killed, or has started."""


def decide(streak: Streak, outcome: ProbeOutcome, kind: Kind, probe: Probe) -> Streak:
    """The streak after one more outcome."""
    if outcome.result == "error" or streak.on_hold:
        return streak
    good = outcome.result == "success"
    count = streak.count + 1 if good is streak.last else 1
    threshold = max(1, probe.successThreshold if good else probe.failureThreshold)
    if count < threshold:
        return Streak(streak.result, good, count)
    on_hold = kind == "startup" or (kind == "liveness" and not good)
    return Streak(good, good, threshold, on_hold)
