"""The metrics as Prometheus reads them: checked with the reader of Prometheus' own client library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from actors.http_servers.exposition.actor_metrics import ActorMetrics, text, zeros
from actors.http_servers.exposition.text_format import number
from supervision.metrics import Catalogue, Metric, gauge, histogram
from supervision.protocol import MetricSample, MetricsSnapshot

names = st.from_regex(r"[a-z][a-z_]{0,20}[a-z]", fullmatch=True).filter(
    lambda name: not name.endswith(("_total", "_sum", "_count", "_bucket", "_created", "_info"))
)
texts = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=9)
labels = st.dictionaries(names, texts, max_size=3)
values = st.floats(allow_nan=False)


@given(st.dictionaries(names, st.tuples(st.sampled_from(["gauge", "counter"]), labels, values), max_size=5))
def test_written_samples_are_parsed_unchanged(wanted):
    suffix = {"gauge": "", "counter": "_total"}
    samples = [MetricSample(kind, name + suffix[kind], found, value) for name, (kind, found, value) in wanted.items()]
    known = Catalogue(Metric(one.name, one.kind, "about it", frozenset(one.labels)) for one in samples)
    read = {
        sample.name: (family.type, sample.labels, sample.value)
        for family in text_string_to_metric_families(text(samples, known))
        for sample in family.samples
    }
    assert read == {s.name: (s.kind, s.labels, s.value) for s in samples}


def test_a_histogram_runs_up():
    known = Catalogue([histogram("took_seconds", "time that it took", "a")])
    page = text([MetricSample("histogram", "took_seconds", {"a": "b"}, 2.5, [0.1, 1.0], [1, 2, 3])], known)
    assert page.splitlines() == [
        "# HELP took_seconds time that it took",
        "# TYPE took_seconds histogram",
        'took_seconds_bucket{a="b",le="0.1"} 1',
        'took_seconds_bucket{a="b",le="1"} 3',
        'took_seconds_bucket{a="b",le="+Inf"} 6',
        'took_seconds_sum{a="b"} 2.5',
        'took_seconds_count{a="b"} 6',
    ]


@pytest.mark.parametrize(
    ("bound", "text_"),
    [
        (262144.0, "262144"), (604800.0, "604800"), (999999.0, "999999"), (1e6, "1e+06"), (1048576.0, "1.048576e+06"),
        (15552000.0, "1.5552e+07"), (1048576, "1.048576e+06"), (0.0001, "0.0001"), (0.00001, "1e-05"), (0.005, "0.005"),
        (2.5e21, "2.5e+21"), (0.0, "0"),
    ],
)  # fmt: skip
def test_a_bound_of_a_bucket_is_the_label_that_go_writes(bound, text_):
    known = Catalogue([histogram("size_bytes", "size")])
    page = text([MetricSample("histogram", "size_bytes", {}, 1.0, [bound], [1, 0])], known)
    assert page.splitlines()[2] == f'size_bytes_bucket{{le="{text_}"}} 1'


@given(st.floats(allow_nan=False) | st.integers())
def test_numbers_keep_their_value(value):
    assert float(number(value)) == float(value) if not isinstance(value, int) or abs(value) < 1e300 else True


def test_infinities_and_nan_are_written_as_prometheus_does():
    assert (number(math.inf), number(-math.inf), number(math.nan)) == ("+Inf", "-Inf", "NaN")


def test_a_replaced_actor_continues_its_counters_and_removed_pods_are_dropped():
    metrics = ActorMetrics()

    def probes(incarnation: int, *uids: str) -> dict[str, float]:
        of_pods = [MetricSample("counter", "probes_total", {"pod": uid}, 2.0) for uid in uids]
        metrics.update(
            MetricsSnapshot("prober", incarnation, [MetricSample("counter", "all_total", {}, 1.0), *of_pods])
        )
        return {sample.labels.get("pod", "all"): sample.value for sample in metrics.samples()}

    assert probes(1, "a", "b") == {"all": 1.0, "a": 2.0, "b": 2.0}
    assert probes(2, "a") == {"all": 2.0, "a": 4.0}, "b has gone, or is not known yet"
    assert probes(2, "a", "b") == {"all": 2.0, "a": 4.0, "b": 4.0}
    for incarnation in range(3, 103):
        told = probes(incarnation, "a", f"pod-{incarnation}")
    assert told == {"all": 102.0, "a": 204.0, "pod-102": 2.0}
    assert len(metrics._totals["prober"]) == 3, "all, a, and the pod that the incarnation before knew"


def test_a_gauge_without_an_event_is_zero_until_it_is_set():
    known = Catalogue([gauge("sweeps", "of the last sweep", starts_at_zero=True), gauge("degrees", "measured")])
    assert _values(text(zeros(known.values()), known))["sweeps"] == 0
    assert "degrees" not in _values(text(zeros(known.values()), known))
    page = text([*zeros(known.values()), MetricSample("gauge", "sweeps", {}, 3)], known)
    assert _values(page)["sweeps"] == 3


def _values(page: str) -> dict[str, float]:
    return {sample.name: sample.value for family in text_string_to_metric_families(page) for sample in family.samples}
