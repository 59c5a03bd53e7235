"""The heartbeat of programs: the probe of the child spec runs periodically, in a disposable process."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from ..errors import UNREADABLE
from ..process_messages import Cause, DisposableResult, RunDisposable
from ..spec import ProgramAnswer, ProgramProbe
from ..time_scale import scaled
from .loop import Loop
from .process_entry import ProcessEntry
from .process_table import ProcessTable

_GRACE_SECONDS = 5.0
"""The process of a probe has this much longer than the probe's own deadline."""
_REPEAT_SECONDS = 1.0
"""The pause after an unanswered probe."""
Run = Callable[[str, RunDisposable, Callable[[DisposableResult], None]], None]
Hung = Callable[[ProcessEntry, str], None]
Kill = Callable[[ProcessEntry, Cause, str], None]


class ProgramSilence:
    """How long one incarnation of a program has not answered, or not done its work."""

    def __init__(self) -> None:
        self._since: float | None = None
        self.unanswered = 0
        """Consecutive unanswered probes."""
        self.why = ""
        """Why it does not do its work although it answered the last probe; '' otherwise."""

    def probed(self, started_at: float, answer: ProgramAnswer) -> None:
        """Record the result of the probe with this start."""
        self.why = answer.not_serving
        if answer.answered and not answer.not_serving:
            self._since, self.unanswered = None, 0
        else:
            self.unanswered += 1
            self._since = started_at if self._since is None else self._since

    def seconds(self, now: float) -> float:
        """Seconds of silence; 0.0 while it answers."""
        return 0.0 if self._since is None else now - self._since


def answer_of(result: DisposableResult) -> ProgramAnswer | None:
    """The result of a probe; None if it says nothing of the program: it could not run, as without a free process, or
    returned something else."""
    if result.timed_out:
        return ProgramAnswer(answered=False)
    if result.kind:
        return None
    try:
        return msgspec.msgpack.decode(result.result, type=ProgramAnswer)
    except UNREADABLE:
        return None


class ProgramProbes:
    """Probes each program in service that has a probe."""

    def __init__(self, loop: Loop, table: ProcessTable, run: Run, hung: Hung, kill: Kill) -> None:
        self._loop, self._run, self._hung, self._kill = loop, run, hung, kill
        for child in table:
            if child.spec.probe is not None:
                self._schedule(
                    child, child.spec.probe, ProgramSilence(), child.incarnation, child.spec.probe.interval_seconds
                )

    def _schedule(
        self, child: ProcessEntry, probe: ProgramProbe, silence: ProgramSilence, incarnation: int, seconds: float
    ) -> None:
        self._loop.call_later(seconds, lambda: self._probe(child, probe, silence, incarnation))

    def _probe(self, child: ProcessEntry, probe: ProgramProbe, silence: ProgramSilence, incarnation: int) -> None:
        if child.incarnation != incarnation:
            silence = ProgramSilence()
        if child.state != "running" or child.process.cause is not None or not child.policy.heartbeat_seconds:
            self._schedule(child, probe, ProgramSilence(), child.incarnation, probe.interval_seconds)
            return
        incarnation, started_at = child.incarnation, time.monotonic()
        order = RunDisposable(
            probe.function, msgspec.msgpack.encode(probe.arguments), scaled(probe.timeout_seconds + _GRACE_SECONDS)
        )

        def done(result: DisposableResult) -> None:
            if (answer := answer_of(result)) is not None:
                silence.probed(started_at, answer)
            silent, allowed = silence.seconds(time.monotonic()), child.policy.heartbeat_seconds
            # meanwhile the program may have ended, be stopping, or have a new policy; a single slow probe may only have
            # waited for its own process
            in_service = child.incarnation == incarnation and child.state == "running" and child.process.cause is None
            if in_service and silence.unanswered > 1 and 0 < allowed < silent:
                if silence.why:
                    self._kill(child, "not_serving", silence.why)
                else:
                    self._hung(child, f"no answer to {probe.function} for {silent:.1f} s")
            self._schedule(child, probe, silence, incarnation, _REPEAT_SECONDS if silent else probe.interval_seconds)

        # not owned by the child: the probe's order must be answered even if the child has ended
        self._run(f"probe of {child.name}", order, done)
