"""Pages as OpenMetrics: checked with the strict reader of Prometheus' own client library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from actors.http_servers.exposition.actor_metrics import text, zeros
from actors.http_servers.exposition.openmetrics import END, is_wanted, translated
from actors.http_servers.exposition.text_format import simple
from actors.shared.metrics import catalogue
from supervision.metrics import Catalogue, Metric, counter, gauge, histogram
from supervision.protocol import MetricSample

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
names = st.from_regex(r"[a-z][a-z_]{0,20}[a-z]", fullmatch=True).filter(
    lambda name: not name.endswith(("_total", "_sum", "_count", "_bucket", "_created", "_info", "_gsum", "_gcount"))
)
texts = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\n"}\\ '), max_size=9)
labels = st.dictionaries(names, texts, max_size=3)


def families(page: str) -> list:
    return list(text_string_to_metric_families(translated(page) + END))


@given(
    st.dictionaries(names, st.tuples(st.sampled_from(["gauge", "counter"]), labels, st.integers(0, 2**60)), max_size=5)
)
def test_written_samples_are_parsed_unchanged(wanted):
    suffix = {"gauge": "", "counter": "_total"}
    samples = [MetricSample(kind, name + suffix[kind], found, value) for name, (kind, found, value) in wanted.items()]
    known = Catalogue(Metric(one.name, one.kind, 'about "it"\\', frozenset(one.labels)) for one in samples)
    read = {
        sample.name: (family.type, family.documentation, sample.labels, sample.value)
        for family in families(text(samples, known))
        for sample in family.samples
    }
    assert read == {s.name: (s.kind, 'about "it"\\', s.labels, s.value) for s in samples}


def test_bounds_have_a_fraction_and_times_are_seconds():
    known = Catalogue([histogram("took_seconds", "time that it took", "a")])
    page = text([MetricSample("histogram", "took_seconds", {"a": 'le="7"}'}, 2.5, [0.1, 1.0], [1, 2, 3])], known)
    page += simple(gauge("here", "it is"), [({}, 1)], at=1_800_000_000.025)
    assert translated(page).splitlines() == [
        "# TYPE took_seconds histogram",
        "# HELP took_seconds time that it took",
        'took_seconds_bucket{a="le=\\"7\\"}",le="0.1"} 1',
        'took_seconds_bucket{a="le=\\"7\\"}",le="1.0"} 3',
        'took_seconds_bucket{a="le=\\"7\\"}",le="+Inf"} 6',
        'took_seconds_sum{a="le=\\"7\\"}"} 2.5',
        'took_seconds_count{a="le=\\"7\\"}"} 6',
        "# TYPE here gauge",
        "# HELP here it is",
        "here 1 1800000000.025",
    ]


def test_only_line_feeds_end_lines():
    value = "a\u2028b\x0bc\x85d"
    page = text([MetricSample("gauge", "here", {"a": value}, 1)], Catalogue([gauge("here", "it is", "a")]))
    assert translated(page).split("\n")[2:] == [f'here{{a="{value}"}} 1', ""]


def test_a_counter_of_the_kubelet_without_total_is_of_unknown_type():
    page = text([MetricSample("counter", "renew_errors", {}, 3)], Catalogue([counter("renew_errors", "errors")]))
    assert [(one.name, one.type, one.samples[0].value) for one in families(page)] == [("renew_errors", "unknown", 3)]


def test_every_metric_of_the_catalogue_can_be_exposed():
    known = catalogue()
    samples = [
        MetricSample(
            one.kind,
            one.name,
            dict.fromkeys(sorted(one.labels), "x"),
            1,
            list(one.buckets),
            [0] * (len(one.buckets) + 1),
        )
        if one.kind == "histogram"
        else MetricSample(one.kind, one.name, dict.fromkeys(sorted(one.labels), "x"), 1)
        for one in known.values()
    ]
    page = text([*zeros(known.values()), *samples], known)
    assert len(families(page)) == len(known)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", False),
        (PROMETHEUS_2, False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        ("application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.5", True),
        ("application/openmetrics-text, text/plain;q=0", True),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=much", False),
    ],
)
def test_a_client_that_accepts_plain_text_gets_the_kubelets_format(accept, wanted):
    assert is_wanted(accept) is wanted
