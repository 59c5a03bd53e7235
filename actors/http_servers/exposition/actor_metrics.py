"""The metrics of all actors as one, and as Prometheus text.

An actor's counters begin at zero again when it is replaced. What an incarnation counted before it ended is kept and
added, so that a series never goes backwards; gauges are those of the current incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from supervision.metrics import Catalogue, Metric, installed
from supervision.protocol import MetricsSnapshot, Sample

from .text_format import family

POD: Final = "pod"
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


def merged(samples: Iterable[Sample]) -> list[Sample]:
    """Each series once: two actors that count the same series are added up, of gauges the last is taken."""
    found: dict[_Series, Sample] = {}
    for sample in samples:
        key = _series(sample)
        known = found.get(key)
        found[key] = add(known, sample) if known is not None and sample.kind != "gauge" else sample
    return list(found.values())


def text(samples: Iterable[Sample], catalogue: Catalogue | None = None) -> bytes:
    """A page in the Prometheus text format 0.0.4, with the HELP of the catalogue (default: the installed one)."""
    known = catalogue if catalogue is not None else installed()
    families: dict[str, list[Sample]] = {}
    for sample in merged(samples):
        families.setdefault(sample.name, []).append(sample)
    return "".join(family(known[name].help, found) for name, found in families.items() if name in known).encode()


def zeros(metrics: Iterable[Metric]) -> Iterable[Sample]:
    """Counters and histograms without labels before anything is counted."""
    for metric in metrics:
        if not metric.labels and metric.kind != "gauge":
            counts = [0] * (len(metric.buckets) + 1) if metric.kind == "histogram" else []
            yield Sample(metric.kind, metric.name, {}, 0, list(metric.buckets), counts)
