"""Reports the pressure conditions of the node to `supervise status`, each with the signals that are below a
threshold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from actors.shared.admission.checks.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.fields.eviction import Threshold
from supervision.process_messages import ServiceState

from .resources import CONDITION_OF, RESOURCE_OF
from .thresholds import SignalObservation

CONDITIONS: Final = (MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE)
_HELD: Final = "nothing is below its threshold any more; it stays for evictionPressureTransitionPeriod"
_RELIEFS: Final[Mapping[str, str]] = {
    MEMORY_PRESSURE: "ps -eo rss,pid,args --sort=-rss | head: end what is too large, or give the pods limits",
    DISK_PRESSURE: "supervise doctor: its line `disk` says where, and what to type; supervise logs eviction_manager: "
    "what the agent removes",
    PID_PRESSURE: "ps -eo nlwp,pid,args --sort=-nlwp | head: end what has too many, or raise kernel.pid_max",
}
"""What ends each condition."""
_WAIT: Final = "nothing to do but wait; supervise config show evictionPressureTransitionPeriod: how long"
_IN_BYTES: Final = ("memory", "ephemeral-storage")


class PressureReport:
    """`tell` gets each change; `clock`: CLOCK_MONOTONIC."""

    def __init__(self, tell: Callable[[ServiceState], None], clock: Callable[[], float]) -> None:
        self._tell, self._clock = tell, clock
        self._seen: dict[str, SignalObservation] = {}
        self._last_reports: dict[str, str] = {}
        """The last text of each condition; a missing one: this incarnation has sent none yet."""

    def observed(
        self, conditions: Collection[str], met: Sequence[Threshold], signals: Mapping[str, SignalObservation]
    ) -> None:
        """`conditions`: those that are true; `met`: the thresholds that are met. A signal that is missing is as it was
        observed last."""
        self._seen |= signals
        for name in CONDITIONS:
            told = text(name, met, self._seen) if name in conditions else ""
            if self._last_reports.get(name) != told:
                self._last_reports[name] = told
                self._tell(ServiceState(name, told, self._clock(), _relief(name, told)))


def _relief(condition: str, told: str) -> str:
    """What ends it; '' for a condition that is not true."""
    return (_WAIT if told == _HELD else _RELIEFS[condition]) if told else ""


def text(condition: str, met: Sequence[Threshold], signals: Mapping[str, SignalObservation]) -> str:
    """Why the condition is true. A signal that was not observed is named without its amount. Pure."""
    below = [_below(one, signals.get(one.signal)) for one in met if CONDITION_OF[one.signal] == condition]
    return "; ".join(dict.fromkeys(below)) or _HELD


def _below(threshold: Threshold, seen: SignalObservation | None) -> str:
    name, in_bytes = threshold.signal, RESOURCE_OF[threshold.signal] in _IN_BYTES
    limit = threshold.amount.text(lambda value: _number(value, in_bytes))
    if seen is None:
        return f"{name} was below {limit}"
    share = f" ({seen.available / seen.capacity:.0%})" if seen.capacity else ""
    return f"{name} is {_number(seen.available, in_bytes)}{share}, below {limit}"


def _number(value: int, in_bytes: bool) -> str:
    return f"{value >> 20} MiB" if in_bytes else str(value)
