"""Prometheus text exposition format 0.0.4, a family at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Kind = Literal["counter", "gauge", "histogram"]
Row = tuple[Mapping[str, str], float]


def family(
    name: str, kind: Kind, about: str, rows: Iterable[tuple[str, Mapping[str, str], float]], at: float | None = None
) -> str:
    """`rows`: series name (with its suffix), labels, value. `at`: seconds since 1970 that the values are of."""
    stamp = "" if at is None else f" {int(at * 1000)}"
    lines = [f"# HELP {name} {_escape(about, quotes=False)}", f"# TYPE {name} {kind}"]
    lines += [f"{series}{labels_of(labels)} {number(value)}{stamp}" for series, labels, value in rows]
    return "\n".join(lines) + "\n"


def simple(name: str, kind: Kind, about: str, rows: Iterable[Row], at: float | None = None) -> str:
    """A family whose series all have its name; '' when there is none."""
    found = [(name, labels, value) for labels, value in rows]
    return family(name, kind, about, found, at) if found else ""


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
