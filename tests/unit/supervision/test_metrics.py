"""Metrics are recorded as they are declared, and refused otherwise."""

from __future__ import annotations

import logging

import pytest

from supervision.metrics import UNDECLARED, Catalogue, Metrics, UndeclaredMetric, counter, gauge, histogram

DECLARED = (counter("made_total", "things made", "kind"), gauge("size", "how big"), histogram("took", "time", "kind"))
WRONG = {
    "another name": lambda metrics: metrics.count("lost_total"),
    "another type": lambda metrics: metrics.gauge("made_total", 1, kind="a"),
    "a label too few": lambda metrics: metrics.count("made_total"),
    "a label too many": lambda metrics: metrics.gauge("size", 1, kind="a"),
    "another label": lambda metrics: metrics.observe("took", 1, sort="a"),
}


def test_declared_metrics_are_recorded():
    metrics = Metrics(Catalogue(DECLARED, strict=True))
    metrics.count("made_total", kind="a")
    metrics.count("made_total", 2, kind="a")
    metrics.gauge("size", 3)
    metrics.observe("took", 0.3, kind="a")
    made, size, took = metrics.snapshot("actor", 1).samples
    assert (made.value, made.labels, size.value) == (3, {"kind": "a"}, 3)
    assert (took.value, took.bounds[5:7], took.counts[5:7]) == (0.3, [0.25, 0.5], [0, 1])


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_undeclared_metric_raises_under_test(wrong):
    with pytest.raises(UndeclaredMetric):
        wrong(Metrics(Catalogue(DECLARED, strict=True)))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_undeclared_metric_is_counted_and_logged_once_in_production(wrong, caplog):
    metrics = Metrics(Catalogue(DECLARED))
    with caplog.at_level(logging.ERROR):
        wrong(metrics)
        wrong(metrics)
    (sample,) = metrics.snapshot("actor", 1).samples
    assert (sample.name, sample.value) == (UNDECLARED, 2)
    assert len(caplog.records) == 1


def test_a_name_is_declared_once():
    with pytest.raises(ValueError, match="made_total is declared twice"):
        Catalogue([*DECLARED, counter("made_total", "things")])
