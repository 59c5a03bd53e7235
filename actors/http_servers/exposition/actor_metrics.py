"""Merges the metrics of all actors, and formats them as Prometheus text.

The counters of an actor begin at zero in each incarnation. The counters of earlier incarnations are kept and added, so
that a series never decreases; gauges are those of the current incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from supervision.metrics import Catalogue, Metric, installed
from supervision.protocol import MetricSample, MetricsSnapshot

from .text_format import family

POD: Final = "pod"
"""Label of the series of one pod: the actor removes them with the pod."""
_Series = tuple[str, tuple[tuple[str, str], ...]]


class ActorMetrics:
    """The last snapshot of each actor, and the totals of its earlier incarnations."""

    def __init__(self) -> None:
        self._last: dict[str, MetricsSnapshot] = {}
        self._totals: dict[str, dict[_Series, MetricSample]] = {}

    def update(self, snapshot: MetricsSnapshot) -> None:
        """Set the snapshot of an actor. With a new incarnation, the counts of the old one are added to its totals."""
        known = self._last.get(snapshot.actor)
        if known is not None and known.incarnation != snapshot.incarnation:
            self._totals[snapshot.actor] = self._with_ended(known)
        self._last[snapshot.actor] = snapshot

    def _with_ended(self, last: MetricsSnapshot) -> dict[_Series, MetricSample]:
        """The totals with the counts of an ended incarnation; a pod's series only if that incarnation had it."""
        known = {_series(sample) for sample in last.samples}
        before = self._totals.get(last.actor, {})
        base = {key: sample for key, sample in before.items() if key in known or POD not in sample.labels}
        for sample in last.samples:
            if sample.kind != "gauge":
                key = _series(sample)
                base[key] = add(base[key], sample) if key in base else sample
        return base

    def samples(self) -> Iterable[MetricSample]:
        """Every series of every actor, with the totals of earlier incarnations, without those of removed pods."""
        for name, snapshot in self._last.items():
            base = dict(self._totals.get(name, {}))
            for sample in snapshot.samples:
                before = base.pop(_series(sample), None)
                yield add(before, sample) if before is not None else sample
            yield from (sample for sample in base.values() if POD not in sample.labels)


def _series(sample: MetricSample) -> _Series:
    return sample.name, tuple(sorted(sample.labels.items()))


def add(one: MetricSample, other: MetricSample) -> MetricSample:
    """The sum of two counters or histograms. If the bounds of two histograms differ, `other` alone."""
    if one.bounds != other.bounds:
        return other
    counts = [a + b for a, b in zip(one.counts, other.counts, strict=True)]
    return MetricSample(other.kind, other.name, other.labels, one.value + other.value, other.bounds, counts)


def merged(samples: Iterable[MetricSample]) -> list[MetricSample]:
    """Each series once: counters and histograms of several actors are added; for gauges the last value counts."""
    found: dict[_Series, MetricSample] = {}
    for sample in samples:
        key = _series(sample)
        known = found.get(key)
        found[key] = add(known, sample) if known is not None and sample.kind != "gauge" else sample
    return list(found.values())


def text(samples: Iterable[MetricSample], catalogue: Catalogue | None = None) -> str:
    """A page in the Prometheus text format 0.0.4, with the HELP of the catalogue (default: the installed one)."""
    known = catalogue if catalogue is not None else installed()
    families: dict[str, list[MetricSample]] = {}
    for sample in merged(samples):
        families.setdefault(sample.name, []).append(sample)
    return "".join(family(known[name].help, found) for name, found in families.items() if name in known)


def zeros(metrics: Iterable[Metric]) -> Iterable[MetricSample]:
    """Zeros for the counters and histograms without labels, and for gauges that start at zero."""
    for metric in metrics:
        if not metric.labels and (metric.kind != "gauge" or metric.starts_at_zero):
            counts = [0] * (len(metric.buckets) + 1) if metric.kind == "histogram" else []
            yield MetricSample(metric.kind, metric.name, {}, 0, list(metric.buckets), counts)
