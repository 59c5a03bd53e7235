"""The metrics of the kubelet that docs/metrics.md says are not here are not here."""

from __future__ import annotations

import re
from pathlib import Path

from actors.shared.metrics import METRICS

NAME = re.compile(r"`([a-z0-9_]+)`")


def test_a_metric_listed_as_missing_is_missing_and_has_a_reason() -> None:
    document = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
    rows = [line.strip("|").split("|") for line in document.splitlines() if line.startswith("| `")]
    missing = {name for names, _ in rows for name in NAME.findall(names)}
    assert len(missing) > 20
    assert missing & {metric.name for metric in METRICS} == set()
    assert all(reason.strip() for _, reason in rows)
