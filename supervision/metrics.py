"""An actor's counters, gauges and histograms: plain numbers, which a scrape reads by message.

Each metric is declared once, in a catalogue: name, type, HELP, labels, buckets. An undeclared metric, or one with other
labels, is refused: tests raise UndeclaredMetric; in production it is not recorded, but counted and logged once.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from .protocol import MetricSample, MetricsSnapshot

Kind = Literal["counter", "gauge", "histogram"]
DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; the defaults of the Prometheus client libraries."""
UNDECLARED: Final = "actor_undeclared_metrics_total"
_Key = tuple[str, tuple[tuple[str, str], ...]]


class Metric(msgspec.Struct, frozen=True):
    """A declaration."""

    name: str
    kind: Kind
    help: str
    labels: frozenset[str] = frozenset()
    buckets: tuple[float, ...] = ()
    """Upper bounds; for a histogram only."""
    starts_at_zero: bool = False
    """For a gauge without labels: its value is 0 before it is first set."""


def counter(name: str, about: str, *labels: str) -> Metric:
    return Metric(name, "counter", about, frozenset(labels))


def gauge(name: str, about: str, *labels: str, starts_at_zero: bool = False) -> Metric:
    return Metric(name, "gauge", about, frozenset(labels), starts_at_zero=starts_at_zero)


def histogram(name: str, about: str, *labels: str, buckets: Iterable[float] = DEFAULT_BUCKETS) -> Metric:
    return Metric(name, "histogram", about, frozenset(labels), tuple(float(bound) for bound in buckets))


ENGINE: Final = (
    counter("actor_dead_letters_total", "messages of the actor that were not delivered", "to", "reason"),
    counter("actor_late_answers_total", "answers that arrived after their question timed out"),
    counter("actor_slow_handlers_total", "handlers that held the actor's loop for too long", "message"),
    counter("actor_refused_connections_total", "connections to the actor that were refused"),
    counter("actor_unhandled_messages_total", "messages of a type that the actor does not handle", "type"),
    counter(UNDECLARED, "uses of a metric that is not in the catalogue", "metric"),
)
"""The metrics of every actor."""


class UndeclaredMetric(Exception):
    """The metric is not in the catalogue, or has another type or other labels there."""


class Catalogue(Mapping[str, Metric]):
    """Declarations by name."""

    def __init__(self, metrics: Iterable[Metric] = (), *, strict: bool = False) -> None:
        """`strict`: an undeclared metric raises UndeclaredMetric. Raises ValueError for a duplicate name."""
        self._metrics: dict[str, Metric] = {}
        for metric in (*ENGINE, *metrics):
            if metric.name in self._metrics:
                raise ValueError(f"the metric {metric.name} is declared twice")
            self._metrics[metric.name] = metric
        self.strict = strict
        self._refused: set[str] = set()

    def __getitem__(self, name: str) -> Metric:
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def problem(self, name: str, kind: Kind, labels: Iterable[str]) -> str:
        """How a series differs from its declaration; '' if it does not."""
        known = self._metrics.get(name)
        if known is None:
            return f"the metric {name} is not declared"
        if known.kind != kind:
            return f"the metric {name} is declared as a {known.kind}, not a {kind}"
        if known.labels != set(labels):
            return f"the metric {name} is declared with the labels {sorted(known.labels)}, not {sorted(labels)}"
        return ""

    def refuse(self, problem: str, name: str) -> None:
        """Log a problem once. Raises UndeclaredMetric if the catalogue is strict."""
        if self.strict:
            raise UndeclaredMetric(problem)
        if name not in self._refused:
            self._refused.add(name)
            logging.getLogger("metrics").error("%s: it is not recorded", problem)


_installed = Catalogue()


def install(catalogue: Catalogue) -> None:
    """Make this the catalogue of this process and of its forks."""
    global _installed  # noqa: PLW0603 - one for each process, set before the first actor
    _installed = catalogue


def installed() -> Catalogue:
    return _installed


class Metrics:
    """The numbers of one actor, by metric and labels."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        """Default: the installed catalogue."""
        self._catalogue = catalogue if catalogue is not None else installed()
        self._counters: dict[_Key, float] = {}
        self._gauges: dict[_Key, float] = {}
        self._histograms: dict[_Key, tuple[tuple[float, ...], list[int], list[float]]] = {}

    def count(self, name: str, by: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        key = (name, tuple(sorted(labels.items())))
        if key not in self._counters:
            if not self._check_declared(name, "counter", labels):
                return
            self._counters[key] = 0
        self._counters[key] += by

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        key = (name, tuple(sorted(labels.items())))
        if key in self._gauges or self._check_declared(name, "gauge", labels):
            self._gauges[key] = value

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add an observation to a histogram."""
        key = (name, tuple(sorted(labels.items())))
        if key not in self._histograms:
            if not self._check_declared(name, "histogram", labels):
                return
            buckets = self._catalogue[name].buckets
            self._histograms[key] = (buckets, [0] * (len(buckets) + 1), [0.0])
        bounds, counts, total = self._histograms[key]
        counts[bisect_left(bounds, value)] += 1
        total[0] += value

    def drop(self, name: str, /, **labels: str) -> None:
        """Remove a gauge whose subject is gone."""
        self._gauges.pop((name, tuple(sorted(labels.items()))), None)

    def forget(self, **labels: str) -> None:
        """Remove every series with these labels: their subject is gone."""
        gone = set(labels.items())
        tables: tuple[dict[_Key, Any], ...] = (self._counters, self._gauges, self._histograms)
        for table in tables:
            for key in [key for key in table if gone.issubset(key[1])]:
                del table[key]

    def snapshot(self, actor: str, incarnation: int) -> MetricsSnapshot:
        """All of it as one message."""
        samples = [
            MetricSample("counter", name, dict(labels), value) for (name, labels), value in self._counters.items()
        ]
        samples += [MetricSample("gauge", name, dict(labels), value) for (name, labels), value in self._gauges.items()]
        samples += [
            MetricSample("histogram", name, dict(labels), total[0], list(bounds), list(counts))
            for (name, labels), (bounds, counts, total) in self._histograms.items()
        ]
        return MetricsSnapshot(actor, incarnation, samples)

    def _check_declared(self, name: str, kind: Kind, labels: Mapping[str, str]) -> bool:
        """Called only for a new series."""
        problem = self._catalogue.problem(name, kind, labels)
        if not problem:
            return True
        self._catalogue.refuse(problem, name)
        self.count(UNDECLARED, metric=name)
        return False
