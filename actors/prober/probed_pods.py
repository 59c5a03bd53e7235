"""The pods with probes and the state of each probe, as immutable values that messages replace. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import Probe
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_field, has_sidecar, sidecars

from .messages import ProbedContainer, ProbedPod
from .outcome import ProbeOutcome
from .probe_type import Key, Kind
from .thresholds import Streak, decide

FIELDS: Final[tuple[tuple[Kind, str], ...]] = (
    ("startup", "startupProbe"), ("liveness", "livenessProbe"), ("readiness", "readinessProbe"),
)  # fmt: skip


SYNC_SPREAD: Final = 0.5
"""An early probe is delayed at random by up to this share of syncFrequency."""
TICK_SECONDS: Final = 0.05
"""Seconds. A tick that passed less than this time ago still counts: the probe runs at once."""


class ProbeState(msgspec.Struct, frozen=True):
    """A probe of a container."""

    container: Container
    kind: Kind
    probe: Probe
    facts: ProbedContainer
    """The container's state in the runtime."""
    streak: Streak = Streak()
    first_tick: float = 0.0
    """By the prober's clock. The ticks of a probe are one period apart from the time at which it became known, as those
    of the kubelet are from the moment that the pod has its volumes; a container that comes later has missed that one.
    """

    @property
    def period(self) -> int:
        """Seconds."""
        return max(1, self.probe.periodSeconds)

    @property
    def timeout(self) -> int:
        """Seconds."""
        return max(1, self.probe.timeoutSeconds)

    def first_delay(self, now_ns: int, now: float, uptime: float, spread: float) -> float:
        """Seconds until the first probe: the rest of the initial delay, and then until the next tick. Readiness waits
        for no tick. So a program has up to a period to open its port before a probe can fail, and
        failureThreshold * periodSeconds before it is stopped, as the API says of startup probes.

        A container that is more than a second older than the prober waits for a part of a period (`spread`, 0 to 1), so
        that after a restart not all are probed at once. `now`, `uptime`: by the prober's clock.
        """
        age = (now_ns - self.facts.started_ns) / 1e9
        wait = max(0.0, self.probe.initialDelaySeconds - math.floor(max(0.0, age)))
        if self.facts.started_ns and age > uptime + 1.0 and self.period > uptime:
            return max(wait, spread * self.period)
        if self.kind == "readiness":
            return wait
        ticks = max(0, math.ceil((now + wait - self.first_tick - TICK_SECONDS) / self.period))
        return max(0.0, self.first_tick + ticks * self.period - now)

    def next_delay(self, sync_seconds: float, spread: float) -> float:
        """Seconds from the start of a run to the start of the next: a period. A container that is not ready is probed
        more often if its period is long, as by the kubelet, which probes it with each synchronization of its pod.
        `sync_seconds`: syncFrequency; `spread`: 0 to 1."""
        if self.kind != "readiness" or self.streak.result:
            return self.period
        return min(self.period, sync_seconds * (1 + SYNC_SPREAD * spread))


class PodProbes(msgspec.Struct, frozen=True):
    """A pod that has probes."""

    message: ProbedPod
    pod: Pod
    """`message.pod`, decoded."""
    probes: Mapping[Key, ProbeState]
    confirmed: bool = True
    """Sent by the present incarnation of its worker."""

    def started(self, container: str) -> bool:
        """The container's startup probe, if it has one, has passed."""
        startup = self.probes.get((self.message.uid, container, "startup"))
        return startup is None or startup.facts.started or startup.streak.result is True

    def active(self, key: Key) -> bool:
        """Whether it is probed periodically. Liveness and readiness wait for the startup probe."""
        state = self.probes[key]
        if not state.facts.running or state.streak.on_hold:
            return False
        started = self.started(state.container.name)
        return not started if state.kind == "startup" else started

    def field(self, container: str) -> str:
        """The path of the container in the pod's object, as in events."""
        return container_field(self.pod, container)


def probes_of(pod: Pod) -> Iterator[tuple[Container, Kind, Probe]]:
    """The probes of regular containers and sidecars; other init containers have none."""
    for container in (*sidecars(pod), *pod.spec.containers):
        for kind, field in FIELDS:
            probe: Probe | None = getattr(container, field)
            if probe is not None:
                yield container, kind, probe


def updated(before: PodProbes | None, message: ProbedPod, now: float) -> PodProbes:
    """The pod after a message of its worker. An unchanged probe continues. `now`: by the prober's clock. While a pod
    ends, its regular containers are probed for readiness only, and its sidecars continue with all probes, as in the
    kubelet."""
    same = before is not None and before.message.pod == message.pod
    pod = before.pod if before is not None and same else codec.decode_pod(message.pod)
    old = before.probes if before is not None else {}
    facts = {container.name: container for container in message.containers}
    probes = {}
    for container, kind, probe in probes_of(pod):
        if message.deleting and kind != "readiness" and not has_sidecar(pod, container.name):
            continue
        key: Key = (message.uid, container.name, kind)
        fact = facts.get(container.name) or ProbedContainer(container.name, "", False, 0)
        known = old.get(key)
        if known is None or known.probe != probe:
            known = ProbeState(container, kind, probe, ProbedContainer(container.name, "", False, 0))
            known = msgspec.structs.replace(known, first_tick=now if fact.running else now + known.period)
        probes[key] = _with_facts(msgspec.structs.replace(known, container=container), fact)
    return PodProbes(message, pod, probes)


def _with_facts(state: ProbeState, facts: ProbedContainer) -> ProbeState:
    """A new instance of the container starts from the beginning."""
    streak = state.streak
    if facts.id != state.facts.id:
        streak = Streak(on_hold=state.kind == "startup" and facts.started)
    return msgspec.structs.replace(state, facts=facts, streak=streak)


def probed(before: PodProbes, key: Key, outcome: ProbeOutcome) -> PodProbes:
    """The pod after one more outcome."""
    state = before.probes[key]
    streak = decide(state.streak, outcome, state.kind, state.probe)
    return msgspec.structs.replace(before, probes={**before.probes, key: msgspec.structs.replace(state, streak=streak)})


def must_notify(before: Streak, after: Streak) -> bool:
    """Whether other actors must be notified."""
    return after.result is not before.result or after.on_hold is not before.on_hold


def replaced(before: PodProbes | None, after: PodProbes) -> Iterator[Key]:
    """The earlier probes that are gone or have changed."""
    for key, state in before.probes.items() if before is not None else ():
        now = after.probes.get(key)
        if now is None or now.probe != state.probe:
            yield key
