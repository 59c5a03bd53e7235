"""etc/prometheus and the pages of metrics, by promtool, where that is installed (Debian: prometheus)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from actors.http_servers.exposition.actor_metrics import text
from actors.shared.metrics import catalogue
from actors.shared.metrics.usage import CADVISOR, RESOURCE
from supervision.metrics import Catalogue
from supervision.protocol import MetricSample

FOLDER = Path(__file__).parents[3] / "etc" / "prometheus"
CERTIFICATES = "/etc/prometheus/troupelet"
pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="NOT TESTED: there is no promtool")

NAMES_OF_THE_KUBELET = {
    "cadvisor_version_info", "container_fs_inodes_total", "container_memory_failcnt",
    "kubelet_certificate_manager_client_expiration_renew_errors", "kubelet_server_expiration_renew_errors",
    "kubelet_container_aligned_compute_resources_count", "kubelet_container_aligned_compute_resources_failure_count",
    "kubelet_evented_pleg_connection_error_count", "kubelet_evented_pleg_connection_success_count",
    "kubelet_cpu_manager_exclusive_cpu_allocation_count", "kubelet_evictions", "kubelet_pleg_discard_events",
    "kubelet_preemptions",
    "kubelet_pod_resources_endpoint_errors_get", "kubelet_pod_resources_endpoint_errors_get_allocatable",
    "kubelet_pod_resources_endpoint_errors_list", "kubelet_pod_resources_endpoint_requests_get",
    "kubelet_pod_resources_endpoint_requests_get_allocatable", "kubelet_pod_resources_endpoint_requests_list",
    "kubelet_topology_manager_admission_duration_ms", "kubelet_pod_resize_duration_milliseconds",
}  # fmt: skip
"""Metrics of which promtool does not like the name or a label; dashboards for the kubelet ask for them so."""


STORIES = yaml.safe_load((Path(__file__).parent / "alert_stories.yaml").read_text())


def promtool(*words: str | Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], input=given, capture_output=True, text=True, timeout=60, check=False)


def rules() -> dict[str, dict]:
    groups = yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def shown(annotation: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], annotation)


def test_rules_and_scrape_configuration_are_right(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "rules.yaml", tmp_path)
    for name in ("ca.crt", "client.crt", "client.key"):
        (tmp_path / name).touch()
    scrape = tmp_path / "prometheus.yml"
    scrape.write_text((FOLDER / "scrape.yaml").read_text().replace(CERTIFICATES, str(tmp_path)))
    done = promtool("check", "config", "--lint=all", "--lint-fatal", scrape)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules())} rules found" in done.stdout


def test_each_alert_has_a_story() -> None:
    assert set(STORIES) == set(rules())


@pytest.mark.parametrize("alert", STORIES)
def test_an_alert_fires_when_it_should_and_only_then(alert: str, tmp_path: Path) -> None:
    rule, story = rules()[alert], STORIES[alert]
    labels = {"instance": "n1", **story.get("labels", {})}
    fired = {
        "exp_labels": {**labels, **rule["labels"]},
        "exp_annotations": {name: shown(text, labels) for name, text in rule["annotations"].items()},
    }
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [{"eval_time": "38m", "alertname": alert, "exp_alerts": expected}],
        }
        for series, expected in ((story["fires"], [fired]), (story["is_quiet"], []))
    ]
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"rule_files": [str(FOLDER / "rules.yaml")], "tests": tests}))
    done = promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_queries_of_the_dashboard_are_promql(tmp_path: Path) -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    file = tmp_path / "rules.yaml"
    found = [{"record": f"panel:{at}", "expr": one} for at, one in enumerate(asked)]
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": found}]}))
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(asked)} rules found" in done.stdout


def complaints(declared: Catalogue) -> set[str]:
    """The metrics of which promtool does not like something, on a page that has all of these."""
    samples = []
    for one in declared.values():
        counts = [0] * (len(one.buckets) + 1) if one.kind == "histogram" else []
        labels = dict.fromkeys(sorted(one.labels), "x")
        samples.append(MetricSample(one.kind, one.name, labels, 1, list(one.buckets), counts))
    done = promtool("check", "metrics", given=text(samples, declared))
    assert (done.returncode in (0, 3), done.stdout) == (True, ""), done.stderr
    return {line.split()[0] for line in done.stderr.splitlines()}


def test_promtool_accepts_every_metric_name_of_our_own() -> None:
    pages = (catalogue(), Catalogue(CADVISOR), Catalogue(RESOURCE))
    assert set().union(*map(complaints, pages)) == NAMES_OF_THE_KUBELET
