"""What an operator and the cluster's monitoring do with a node: scrape it by token, cordon it, drain it."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.api_process import ApiProcess
from tests.support.certificates import Authority
from tests.support.joined import NODE, NODES, Joined, account_token, container, pod, status

LONG_TERM = "trap 'echo told to end; sleep 2; exit 0' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def server(site: Joined) -> ApiProcess:
    if not isinstance(site.cluster, ApiProcess):
        pytest.skip("NOT TESTED: of a real cluster's permissions nothing is known")
    return site.cluster


def scrape(site: Joined, path: str, token: str, pair: tuple[str, str] | None = None) -> tuple[int, str, str]:
    """Status, content type and text of a page of the node server, asked for as Prometheus and metrics-server do."""
    told = status(site.nodes.now[f"/{NODE}"])
    address = next(one["address"] for one in told["addresses"] if one["type"] == "InternalIP")
    url = f"https://{address}:{told['daemonEndpoints']['kubeletEndpoint']['Port']}{path}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = ssl._create_unverified_context()
    if pair:
        context.load_cert_chain(*pair)
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type", ""), error.read().decode()


def test_metrics_are_for_the_tokens_that_may_read_them(site: Joined, server: ApiProcess) -> None:
    site.node.until(site.node.serves, "the node's own server")  # it waits for its certificate, Ready does not
    scraper, stranger = account_token(site, "scraper"), account_token(site, "stranger")
    subject = "system:serviceaccount:default:scraper"
    server.order("POST", "grants", {"subject": subject, "verbs": ["get"], "resources": ["nodes/metrics"]})
    for path, found in (
        ("/metrics/resource", "node_cpu_usage_seconds_total"),
        ("/metrics/cadvisor", "container_cpu_usage_seconds_total"),
        ("/metrics/probes", ""),
        ("/metrics", "kubelet_node_name"),
    ):
        code, kind, text = scrape(site, path, scraper)
        assert (code, kind.partition(";")[0]) == (200, "text/plain"), (path, code, kind)
        assert found in text, path
    assert scrape(site, "/stats/summary", scraper)[0] == 403, "that is nodes/stats"
    assert scrape(site, "/pods", scraper)[0] == 403
    code, _, text = scrape(site, "/metrics/resource", stranger)
    assert code == 403
    assert "resource=nodes, subresource(s)=[metrics]" in text
    for token in ("", "not-a-token", scraper[:-4]):
        assert scrape(site, "/metrics/resource", token)[0] == 401


def test_a_certificate_of_another_cluster_opens_no_door_and_bars_none(
    site: Joined, server: ApiProcess, tmp_path: Path
) -> None:
    site.node.until(site.node.serves, "the node's own server")
    token = account_token(site, "traveller")
    subject = "system:serviceaccount:default:traveller"
    server.order("POST", "grants", {"subject": subject, "verbs": ["get"], "resources": ["nodes/metrics"]})
    foreign = Authority(tmp_path / "other").client("admin", "system:masters")
    assert scrape(site, "/metrics/resource", token, foreign)[0] == 200
    assert scrape(site, "/metrics/resource", "", foreign)[0] == 401
    assert scrape(site, "/metrics/resource", "not-a-token", foreign)[0] == 401


def test_a_cordoned_node_reports_it_and_keeps_its_pods(site: Joined) -> None:
    site.create(pod("stays"))
    site.wait_pods_ready("stays")
    site.kubectl("cordon", NODE)
    wait_event(site, "NodeNotSchedulable")
    site.kubectl("uncordon", NODE)
    wait_event(site, "NodeSchedulable")
    assert site.restarts()["default/stays"] == 0
    site.delete("stays")
    site.wait_no_pod("stays")


def wait_event(site: Joined, reason: str) -> None:
    def told() -> bool:
        events = site.api.call("GET", "/api/v1/namespaces/default/events")["items"]
        return any(one["reason"] == reason and one["involvedObject"]["name"] == NODE for one in events)

    site.node.until(told, f"the event {reason}")


def test_a_drained_node_ends_its_pods_in_their_time_and_keeps_its_static_ones(site: Joined) -> None:
    site.node.write("fixed", json.dumps(pod("fixed")))
    site.create(pod("slow", container("main", "sh", "-c", LONG_TERM), terminationGracePeriodSeconds=120), pod("quick"))
    site.wait_pods_ready("slow", "quick", f"fixed-{NODE}")
    # it is over before the end of the grace: each ends when it has
    site.kubectl("drain", NODE, "--force", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s", seconds=70)
    site.wait_no_pod("slow", "quick")  # this watch may be behind that of kubectl
    last = [status(one.obj) for one in site.pods.events if one.name == "slow"][-1]
    assert last["phase"] == "Succeeded"
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert f"fixed-{NODE}/main" in site.running_ids()
    assert site.api.call("GET", f"{NODES}/{NODE}")["spec"]["unschedulable"] is True
    site.kubectl("uncordon", NODE)
    site.node.withdraw("fixed")
    site.wait_no_pod(f"fixed-{NODE}")
