"""The Prometheus text format 0.0.4, one metric after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from supervision.metrics import Kind, Metric
from supervision.protocol import MetricSample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Row = tuple[Mapping[str, str], float]


def family(about: str, samples: Sequence[MetricSample]) -> str:
    """The text of all series of one metric; `about`: its HELP."""
    name, kind = samples[0].name, samples[0].kind
    lines = _head(name, kind, about)
    for sample in samples:
        if kind == "histogram":
            lines += _histogram(sample)
        else:
            lines.append(f"{name}{labels_of(sample.labels)} {number(sample.value)}")
    return "\n".join(lines) + "\n"


def simple(metric: Metric, rows: Iterable[Row], at: float | None = None) -> str:
    """A counter or gauge; '' without a series. `at`: the time of the values, in seconds since 1970."""
    name = metric.name
    stamp = "" if at is None else f" {int(at * 1000)}"
    lines = [f"{name}{labels_of(labels)} {number(value)}{stamp}" for labels, value in rows]
    return "\n".join([*_head(name, metric.kind, metric.help), *lines]) + "\n" if lines else ""


def _head(name: str, kind: Kind, about: str) -> list[str]:
    return [f"# HELP {name} {_escape(about, quotes=False)}", f"# TYPE {name} {kind}"]


def _histogram(sample: MetricSample) -> Iterator[str]:
    name, labels, running = sample.name, labels_of(sample.labels), 0
    start = f"{name}_bucket{labels[:-1]}," if labels else f"{name}_bucket{{"
    for bound, count in zip([*sample.bounds, float("inf")], sample.counts, strict=True):
        running += count
        yield f'{start}le="{_bound(bound)}"}} {running}'
    yield f"{name}_sum{labels} {number(sample.value)}"
    yield f"{name}_count{labels} {running}"


def _bound(value: float) -> str:
    """A bound is a label, so it is written as Go writes it: with an exponent below 0.0001 and from a million."""
    if value in (0.0, float("inf")) or 1e-4 <= abs(value) < 1e6:
        return number(value)
    digits = Decimal(repr(float(value))).normalize().as_tuple().digits
    return f"{value:.{len(digits) - 1}e}"


def labels_of(labels: Mapping[str, str]) -> str:
    """`{a="x",b="y"}`, or nothing."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def number(value: float) -> str:
    """Whole numbers exactly; infinities and NaN as the format spells them."""
    if isinstance(value, int):
        return str(value)
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _escape(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text
