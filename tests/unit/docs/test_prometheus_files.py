"""etc/prometheus asks only for metrics and labels of the catalogue, and docs/metrics.md lists the catalogue."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from actors.http_servers.endpoints import ENDPOINTS
from actors.shared.metrics import catalogue
from tests.support.promql import Selector, grouped_by, selectors

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "etc" / "prometheus"
OF_PROMETHEUS = {"job", "instance"}
CATALOGUE = catalogue()


class Asked(NamedTuple):
    where: str
    expression: str
    shown: str
    """The text whose labels come from the result."""


def alerts() -> list[Asked]:
    groups = yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"]
    return [
        Asked(rule["alert"], rule["expr"], " ".join(rule["annotations"].values()))
        for group in groups
        for rule in group["rules"]
    ]


def panels() -> list[Asked]:
    found = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [Asked(one["title"], target["expr"], target["legendFormat"]) for one in found for target in one["targets"]]


def labels_of(selector: Selector) -> set[str] | None:
    """The labels that the series has; None: there is no such series."""
    if selector.metric == "up":
        return set(OF_PROMETHEUS)
    if selector.metric in CATALOGUE and CATALOGUE[selector.metric].kind != "histogram":
        return OF_PROMETHEUS | CATALOGUE[selector.metric].labels
    name, _, part = selector.metric.rpartition("_")
    if part not in ("bucket", "sum", "count") or name not in CATALOGUE or CATALOGUE[name].kind != "histogram":
        return None
    return OF_PROMETHEUS | CATALOGUE[name].labels | ({"le"} if part == "bucket" else set())


def wrong_with(asked: Asked) -> list[str]:
    """What the catalogue does not have."""
    wrong, all_labels = [], set()
    found = selectors(asked.expression)
    for selector in found:
        labels = labels_of(selector)
        if labels is None:
            wrong.append(f"no metric {selector.metric}")
            continue
        all_labels |= labels
        wrong += [f"{selector.metric} has no label {label}" for label in selector.labels - labels]
    grouped = grouped_by(asked.expression)
    wrong += [f"nothing there has the label {label}" for label in grouped - all_labels]
    shown = set(re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", asked.shown))
    wrong += [f"the result has no label {label}" for label in shown - (grouped or all_labels)]
    return wrong if found else ["it asks for nothing"]


@pytest.mark.parametrize("asked", [*alerts(), *panels()], ids=lambda asked: asked.where)
def test_each_queried_metric_is_in_the_catalogue(asked: Asked) -> None:
    assert wrong_with(asked) == []


@pytest.mark.parametrize(
    ("expression", "shown", "wrong"),
    [
        ("rate(troupelet_actor_gone[5m]) > 0", "", "no metric troupelet_actor_gone"),
        ('troupelet_actor_up{actr="a"}', "", "troupelet_actor_up has no label actr"),
        ("sum by (verb) (troupelet_actor_up)", "", "nothing there has the label verb"),
        ("sum by (instance) (troupelet_actor_up)", "{{actor}}", "the result has no label actor"),
        ("kubelet_pleg_relist_duration_seconds", "", "no metric kubelet_pleg_relist_duration_seconds"),
        ("time() > 5", "", "it asks for nothing"),
    ],
)
def test_a_query_for_a_missing_metric_is_found(expression: str, shown: str, wrong: str) -> None:
    assert wrong_with(Asked("", expression, shown)) == [wrong]


def test_the_scraped_pages_are_served() -> None:
    jobs = yaml.safe_load((FOLDER / "scrape.yaml").read_text())["scrape_configs"]
    served = {path for endpoint in ENDPOINTS for path in endpoint.paths}
    assert {job["metrics_path"] for job in jobs} - served == set()
    assert len({job["job_name"] for job in jobs}) == len(jobs)


def test_the_document_lists_the_catalogue() -> None:
    document = (ROOT / "docs" / "metrics.md").read_text()
    rows = [
        f"`{one.name}` {one.kind}{' of ' + ', '.join(sorted(one.labels)) if one.labels else ''}: {one.help}"
        for one in sorted(CATALOGUE.values(), key=lambda metric: metric.name)
    ]
    listed = [line[2:] for line in document.splitlines() if line.startswith("- `")]
    assert listed == rows
