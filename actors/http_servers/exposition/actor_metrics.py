"""The metrics of all actors as one, and as Prometheus text.

An actor's counters begin at zero again when it is replaced. What an incarnation counted before it ended is kept and
added, so that a series never goes backwards; gauges are those of the current incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from supervision.protocol import MetricsSnapshot, Sample, Tree

from .text_format import family, number, simple

POD: Final = "pod_uid"
"""Label of the series of one pod: its actor forgets them with the pod."""
_Series = tuple[str, tuple[tuple[str, str], ...]]


class ActorMetrics:
    """Last snapshot of each actor, and what its earlier incarnations had counted."""

    def __init__(self) -> None:
        self._last: dict[str, MetricsSnapshot] = {}
        self._before: dict[str, dict[_Series, Sample]] = {}

    def take(self, snapshot: MetricsSnapshot) -> None:
        """A newer snapshot of an actor; of another incarnation: the old counts are kept as a base."""
        known = self._last.get(snapshot.actor)
        if known is not None and known.incarnation != snapshot.incarnation:
            self._before[snapshot.actor] = self._ended(known)
        self._last[snapshot.actor] = snapshot

    def _ended(self, last: MetricsSnapshot) -> dict[_Series, Sample]:
        """What an incarnation and those before it have counted; of pods that the last one knew."""
        known = {_series(sample) for sample in last.samples}
        before = self._before.get(last.actor, {})
        base = {key: sample for key, sample in before.items() if key in known or POD not in sample.labels}
        for sample in last.samples:
            if sample.kind != "gauge":
                key = _series(sample)
                base[key] = add(base[key], sample) if key in base else sample
        return base

    def samples(self) -> Iterable[Sample]:
        """Every series of every actor, dead incarnations counted in. A pod that the actor knows no more has none."""
        for name, snapshot in self._last.items():
            base = dict(self._before.get(name, {}))
            for sample in snapshot.samples:
                before = base.pop(_series(sample), None)
                yield add(before, sample) if before is not None else sample
            yield from (sample for sample in base.values() if POD not in sample.labels)


def _series(sample: Sample) -> _Series:
    return sample.name, tuple(sorted(sample.labels.items()))


def add(one: Sample, other: Sample) -> Sample:
    """Two counters or histograms of one series as one; of histograms with other bounds the newer stands alone."""
    if one.bounds != other.bounds:
        return other
    counts = [a + b for a, b in zip(one.counts, other.counts, strict=True)]
    return Sample(other.kind, other.name, other.labels, one.value + other.value, other.bounds, counts)


def tree_samples(tree: Tree) -> Iterable[Sample]:
    """What the fork server knows of each actor, as gauges and counters."""
    for actor in tree.actors:
        labels = {"actor": actor.name}
        yield Sample("gauge", "troupelet_actor_up", labels, float(actor.state == "running"))
        yield Sample("counter", "troupelet_actor_restarts_total", labels, actor.restarts)
        yield Sample("gauge", "troupelet_actor_memory_bytes", labels, actor.memory_bytes)
        yield Sample("gauge", "troupelet_actor_mailbox_messages", labels, actor.mailbox)
        yield Sample("gauge", "troupelet_actor_uptime_seconds", labels, actor.uptime)
        yield Sample("gauge", "troupelet_actor_busy_seconds", labels, actor.busy_seconds)
        yield Sample("gauge", "troupelet_actor_heartbeat_age_seconds", labels, actor.heartbeat_age)
        yield Sample("counter", "troupelet_actor_messages_handled_total", labels, actor.handled)
        yield Sample("counter", "troupelet_actor_messages_dropped_total", labels, actor.dropped)
        yield Sample("counter", "troupelet_actor_dead_letters_total", labels, actor.dead_letters)


def merged(samples: Iterable[Sample]) -> list[Sample]:
    """Each series once: two actors that count the same series are added up, of gauges the last is taken."""
    found: dict[_Series, Sample] = {}
    for sample in samples:
        key = _series(sample)
        known = found.get(key)
        found[key] = add(known, sample) if known is not None and sample.kind != "gauge" else sample
    return list(found.values())


def text(samples: Iterable[Sample]) -> bytes:
    """Prometheus text format 0.0.4 of these samples."""
    families: dict[str, list[Sample]] = {}
    for sample in merged(samples):
        name = sample.name.removesuffix("_total") + "_total" if sample.kind == "counter" else sample.name
        families.setdefault(name, []).append(sample)
    return "".join(_family(name, found) for name, found in families.items()).encode()


def _family(name: str, samples: list[Sample]) -> str:
    kind = samples[0].kind
    about = name.removesuffix("_total").replace("_", " ")
    if kind != "histogram":
        return simple(name, kind, about, [(sample.labels, sample.value) for sample in samples])
    rows: list[tuple[str, Mapping[str, str], float]] = []
    for sample in samples:
        running = 0
        for bound, count in zip([*sample.bounds, float("inf")], sample.counts, strict=True):
            running += count
            rows.append((f"{name}_bucket", {**sample.labels, "le": number(bound)}, running))
        rows += [(f"{name}_sum", sample.labels, sample.value), (f"{name}_count", sample.labels, running)]
    return family(name, kind, about, rows)
