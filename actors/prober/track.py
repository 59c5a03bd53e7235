"""One probe of one container over time, and when it is due. The actor hangs its timer and task on it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

from actors.shared.kube.container import Container, Probe
from supervision.actor import Timer

from .messages import ProbedContainer
from .thresholds import Kind, Streak

Key = tuple[str, str, Kind]
"""Pod UID, container name, kind."""


class Track:
    """The actor changes it as it learns; a new container starts it anew."""

    def __init__(self, container: Container, kind: Kind, probe: Probe) -> None:
        self.container, self.kind, self.probe = container, kind, probe
        self.facts = ProbedContainer(container.name, "", False, 0)
        self.streak = Streak()
        self.timer: Timer | None = None
        self.task: asyncio.Task[Any] | None = None

    def renew(self, facts: ProbedContainer) -> bool:
        """Take what is known of the container; whether it is another one than before."""
        other = facts.id != self.facts.id
        self.facts = facts
        if other:
            self.streak = Streak(held=self.kind == "startup" and facts.started)
        return other

    def open(self, *, started: bool) -> bool:
        """Whether it is to be probed now and then. Liveness and readiness wait for the startup probe."""
        if not self.facts.running or self.streak.held:
            return False
        return not started if self.kind == "startup" else started

    def schedule(
        self, seconds: float, after: Callable[[float, Callable[[], Any]], Timer], call: Callable[[], Any]
    ) -> None:
        """At most one timer; none while a probe is under way."""
        if self.timer is None and self.task is None:
            self.timer = after(seconds, call)

    def unschedule(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    @property
    def period(self) -> int:
        return max(1, self.probe.periodSeconds)

    @property
    def timeout(self) -> int:
        return max(1, self.probe.timeoutSeconds)

    def first_delay(self, now_ns: int, uptime: float, spread: float) -> float:
        """Seconds until the first probe: the initial delay from the container's start; for one that was there before
        this actor a random part (`spread`, 0 to 1) of a period, so that not all are probed at once."""
        age = (now_ns - self.facts.started_ns) / 1e9
        wait = max(0.0, self.probe.initialDelaySeconds - math.floor(max(0.0, age)))
        if self.facts.started_ns and age > uptime and self.period > uptime:
            wait = max(wait, spread * self.period)
        return wait
