"""An actor's own counters, gauges and histograms: plain numbers, read by message when somebody scrapes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from .protocol import MetricsSnapshot, Sample

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; the defaults of the Prometheus client libraries."""

_Key = tuple[str, tuple[tuple[str, str], ...]]


class Metrics:
    """Numbers by metric name and labels. Names are those of the reference where it has the same metric."""

    def __init__(self) -> None:
        self._counters: dict[_Key, float] = {}
        self._gauges: dict[_Key, float] = {}
        self._histograms: dict[_Key, tuple[Sequence[float], list[int], list[float]]] = {}

    def count(self, name: str, by: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        key = (name, tuple(sorted(labels.items())))
        self._counters[key] = self._counters.get(key, 0) + by

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        self._gauges[name, tuple(sorted(labels.items()))] = value

    def drop(self, name: str, /, **labels: str) -> None:
        """Forget a gauge whose subject is gone."""
        self._gauges.pop((name, tuple(sorted(labels.items()))), None)

    def forget(self, **labels: str) -> None:
        """Forget everything with these labels, of a subject that is gone."""
        gone = set(labels.items())
        tables: tuple[dict[_Key, Any], ...] = (self._counters, self._gauges, self._histograms)
        for table in tables:
            for key in [key for key in table if gone.issubset(key[1])]:
                del table[key]

    def observe(self, name: str, value: float, buckets: Sequence[float] = DEFAULT_BUCKETS, **labels: str) -> None:
        """Add an observation to a histogram; the buckets of the first call stay."""
        key = (name, tuple(sorted(labels.items())))
        if key not in self._histograms:
            self._histograms[key] = (buckets, [0] * (len(buckets) + 1), [0.0])
        bounds, counts, total = self._histograms[key]
        counts[bisect_left(bounds, value)] += 1
        total[0] += value

    def snapshot(self, actor: str, incarnation: int) -> MetricsSnapshot:
        """All of it as one message."""
        samples = [Sample("counter", name, dict(labels), value) for (name, labels), value in self._counters.items()]
        samples += [Sample("gauge", name, dict(labels), value) for (name, labels), value in self._gauges.items()]
        samples += [
            Sample("histogram", name, dict(labels), total[0], list(bounds), list(counts))
            for (name, labels), (bounds, counts, total) in self._histograms.items()
        ]
        return MetricsSnapshot(actor, incarnation, samples)
