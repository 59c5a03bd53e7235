"""How long a silent process has waited for a processor. On an overloaded host a late heartbeat is no hang, and a kill
would only add work."""

from __future__ import annotations

from typing import NamedTuple

from .. import process_stat

_RUNNABLE = "R"


class _Sample(NamedTuple):
    pid: int
    since: float
    at: float
    used: float
    """Processor time in seconds."""
    waited: float
    """Seconds since the first sample of this silence."""


class Starvation:
    """The waits of silent processes. They count from the first question about a silence, so that the processes that are
    in time cost nothing."""

    def __init__(self) -> None:
        self._samples: dict[str, _Sample] = {}
        """The last one by name."""

    def seconds(self, name: str, pid: int, since: float, now: float) -> float:
        """Seconds that the process has waited since the first question about the silence that began at `since`. The
        time between two questions counts, as far as it did not run, if it can run at the second one."""
        state, used, before = process_stat.state(pid), process_stat.cpu_seconds(pid), self._samples.get(name)
        waited = 0.0
        if before is not None and (before.pid, before.since) == (pid, since):
            waited = before.waited
            if not state:
                return waited  # nothing of it can be read: the next sample counts from the last one that was
            if state == _RUNNABLE:
                waited += max(0.0, now - before.at - (used - before.used))
        self._samples[name] = _Sample(pid, since, now, used, waited)
        return waited
