"""The bench's report: bars, percentiles, files, and two of them side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import report
from tests.bench.report import Figure, Report


def a_report(*figures: Figure, commit: str = "abc") -> Report:
    return Report({"commit": commit}, list(figures))


@pytest.mark.parametrize(
    ("figure", "bar"),
    [
        (Figure("pods.1.p50", "", 0.2, "s", floor=0.17), 0.215),
        (Figure("admission.all", "", 0.004, "s", floor=0.001), 0.003),
        (Figure("managers.eviction.cpu", "", 1.4, "%", floor=1.0), 1.5),
        (Figure("managers.eviction.pss", "", 90.0, "MiB", floor=85.0), 94.5),
        (Figure("pods.10.last", "", 1.0, "s", floor=1.0), 1.15),
        (Figure("idle.10.pss", "", 90.0, "MiB"), 150.0),
        (Figure("start.stop", "", 0.1, "s"), None),
    ],
)
def test_a_bar_shows_the_floor_or_else_a_number(figure: Figure, bar: float | None) -> None:
    assert figure.bar == (None if bar is None else pytest.approx(bar))


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.99, 4), (0.0, 1), (1.0, 4)])
def test_a_percentile_is_one_of_the_values(share: float, value: int) -> None:
    assert report.percentile([4, 1, 3, 2], share) == value


def test_a_figure_above_its_bar_is_marked() -> None:
    text = report.table(a_report(Figure("kill.median", "killed", 0.3, "s"), Figure("hang.replaced", "hung", 11.0, "s")))
    killed, hung = (line for line in text.splitlines() if line.startswith(("killed", "hung")))
    assert killed.split()[-2] == "MISSED"
    assert hung.split()[-2] == "ok"


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = a_report(Figure("a", "what", 1.5, "s", floor=1.0, count=3))
    report.write(written, tmp_path / "bench.json")
    assert report.read(tmp_path / "bench.json") == written


def test_two_reports_are_compared_by_their_distance_from_the_floor() -> None:
    before = a_report(Figure("a", "slower machine", 2.0, "s", floor=2.0), commit="old")
    after = a_report(Figure("a", "slower machine", 1.5, "s", floor=1.0), Figure("b", "new one", 1.0, "s"), commit="new")
    text = report.compared(before, after)
    assert next(line for line in text.splitlines() if "slower machine" in line).split()[-1] == "1.50"
    assert "new one" not in text
    assert "before: commit old" in text
