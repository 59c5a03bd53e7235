"""What the node server says of use: Summary and metrics pages of a node with real pods, through the API server."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.joined import NODE, Joined, container, pod
from tests.support.promql import grouped_by, selectors
from tests.support.waiting import wait_for

ROOT = Path(__file__).parents[3]
COUNTS_FAILURES = {"kubelet_runtime_operations_errors_total"}
"""It has rows after a failure only."""
SPINS = (
    "trap 'exit 0' TERM; dd if=/dev/zero of=/data/file bs=1M count=3 oflag=direct 2>/dev/null || "
    "dd if=/dev/zero of=/data/file bs=1M count=3 conv=fsync 2>/dev/null; "
    "dd if=/dev/zero of=/own bs=1M count=2 conv=fsync 2>/dev/null; echo some log; while :; do :; done"
)


@pytest.fixture(scope="module")
def node(site: Joined) -> Iterator[Joined]:
    volumes = [{"name": "data", "emptyDir": {}}]
    main = container("main", "sh", "-c", SPINS, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    main["resources"] = {"limits": {"cpu": "200m", "memory": "64Mi"}}
    site.create(pod("busy", main, volumes=volumes, terminationGracePeriodSeconds=0))
    site.wait_pods_ready("busy")
    wait_for(lambda: "some log" in site.kubectl("logs", "busy"), 60)  # it has written its file by then
    yield site
    site.delete("busy")
    site.wait_no_pod("busy")


def page(node: Joined, path: str) -> str:
    return node.kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy{path}")


def busy(summary: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in summary["pods"] if one["podRef"]["name"] == "busy")


def rate(node: Joined) -> float:
    """Of the container's CPU, as it is now."""
    (main,) = busy(json.loads(page(node, "/stats/summary?only_cpu_and_memory=true")))["containers"]
    return float(main["cpu"].get("usageNanoCores", 0))


def test_the_summary_has_what_the_node_and_its_pods_use(node: Joined) -> None:
    # an answer does not wait for long for disks that were not measured yet
    wait_for(lambda: bool(busy(json.loads(page(node, "/stats/summary"))).get("volume")), 60)
    found = json.loads(page(node, "/stats/summary"))
    whole, one = found["node"], busy(found)
    assert whole["nodeName"] == NODE
    assert whole["cpu"]["usageCoreNanoSeconds"] > 0
    assert whole["cpu"]["usageNanoCores"] > 0
    assert all("usageNanoCores" in system["cpu"] for system in whole["systemContainers"] if "cpu" in system)
    assert 0 < whole["memory"]["workingSetBytes"] < whole["memory"]["usageBytes"] + 1
    assert 0 < whole["fs"]["usedBytes"] < whole["fs"]["capacityBytes"]
    assert whole["runtime"]["imageFs"]["capacityBytes"] > 0
    assert whole["runtime"]["containerFs"]["inodes"] > 0
    assert whole["rlimit"]["maxpid"] > whole["rlimit"]["curproc"] > 0
    assert "pods" in [system["name"] for system in whole["systemContainers"]]
    (main,) = one["containers"]
    # 200m of a core, and it takes all it gets; the first rate is of a fifth of a second, in which it may get nothing
    wait_for(lambda: 0.05e9 < rate(node) < 0.4e9, 60)
    assert main["memory"]["availableBytes"] < 64 << 20
    assert main["memory"]["workingSetBytes"] > 0
    assert one["memory"]["usageBytes"] >= main["memory"]["usageBytes"]
    assert main["logs"]["usedBytes"] > 0
    assert 0 <= main["rootfs"]["usedBytes"] < main["rootfs"]["capacityBytes"]
    (data,) = [volume for volume in one["volume"] if volume["name"] == "data"]
    assert 3 << 20 <= data["usedBytes"] < 4 << 20
    assert data["inodesUsed"] == 2
    assert one["ephemeral-storage"]["usedBytes"] >= data["usedBytes"]
    assert one["process_stats"].get("process_count", 1) >= 1
    assert one["network"]["name"] == "eth0"
    assert one["network"]["rxBytes"] >= 0


def test_the_small_form_has_cpu_and_memory_only(node: Joined) -> None:
    found = json.loads(page(node, "/stats/summary?only_cpu_and_memory=true"))
    assert set(busy(found)) - {"swap"} == {"podRef", "startTime", "containers", "cpu", "memory"}
    assert set(busy(found)["containers"][0]) - {"swap"} == {"name", "startTime", "cpu", "memory"}
    assert not set(found["node"]) & {"fs", "network", "runtime"}


def test_resource_metrics_go_up_with_what_is_used(node: Joined) -> None:
    def seconds() -> float:
        text = page(node, "/metrics/resource")
        assert "\nresource_scrape_error 0" in text
        found = re.search(r'^container_cpu_usage_seconds_total\{container="main",.*pod="busy"\} (\S+) \d+$', text, re.M)
        assert found
        assert re.search(r'^pod_memory_working_set_bytes\{.*pod="busy"\} [1-9]', text, re.M)
        assert re.search(r"^node_memory_working_set_bytes [1-9]", text, re.M)
        return float(found[1])

    def is_plausible() -> bool:
        """What two looks have between them; a look may be answered with figures of a moment ago."""
        started_at, before = time.monotonic(), seconds()
        time.sleep(2.1)
        used = seconds() - before
        return 0.02 < used < 0.4 * (time.monotonic() - started_at)

    wait_for(is_plausible, 60)


def test_each_series_of_the_dashboard_is_on_the_page_with_its_labels(node: Joined) -> None:
    # a busy fork server may miss one scrape, which then has no rows of the tree
    pages: list[str] = []

    def has_tree() -> bool:
        pages.append(page(node, "/metrics"))
        return "\ntroupelet_actor_up{" in pages[-1]

    wait_for(has_tree, 60)
    text = pages[-1]
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    wrong = []
    for expression in dashboard_expressions():
        for selector in selectors(expression):
            if selector.metric == "up":
                continue  # of Prometheus itself
            family = selector.metric if selector.metric in types else selector.metric.rpartition("_")[0]
            rows = re.findall(rf"^{selector.metric}(?:\{{(.*)\}})? \S+$", text, re.M)
            if family not in types or not (rows or family in COUNTS_FAILURES):
                wrong.append(f"{selector.metric} is not there")
            wanted = (selector.labels | grouped_by(expression)) - {"job", "instance"}  # these Prometheus adds
            wrong += [f"{selector.metric}{{{row}}}" for row in rows if wanted - set(re.findall(r'(\w+)="', row))]
    assert wrong == []


def dashboard_expressions() -> list[str]:
    found = json.loads((ROOT / "etc" / "prometheus" / "dashboard.json").read_text())["panels"]
    return [target["expr"] for one in found for target in one["targets"]]


def test_cadvisor_metrics_have_the_labels_that_dashboards_use(node: Joined) -> None:
    text = page(node, "/metrics/cadvisor")
    for series in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "container_memory_rss"):
        (row,) = re.findall(rf'^{series}\{{container="main",.*pod="busy".*\}} (\S+) \d+$', text, re.M)
        assert float(row) > 0
    labels = r'container="main",.*id="/[^"]+",image="[^"]+",name="[0-9a-f]{64}",namespace="[^"]+",pod="busy"'
    assert re.search(rf"^container_spec_memory_limit_bytes\{{{labels}\}} {64 << 20}$", text, re.M)
    assert re.search(r'^container_network_receive_bytes_total\{.*interface="eth0"\} \d+', text, re.M)
    assert re.search(r"^machine_cpu_cores\{.*\} [1-9]", text, re.M)
    assert "\ncontainer_scrape_error 0\n" in text
    names = re.findall(r"^# TYPE (\S+)", text, re.M)
    assert len(names) == len(set(names))


def counts_writes() -> bool:
    """Whether the kernel counts what each cgroup writes. On v1 newer ones (seen with 6.18) do so only where a limit has
    been set."""
    path = Path("/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive")
    return not path.exists() or "Write" in path.read_text()


def test_disks_have_what_a_container_wrote_and_what_it_keeps(node: Joined) -> None:
    """What is written is the kernel's figure, of the container and of its pod."""

    def rows(name: str, text: str) -> list[tuple[str, float]]:
        return [(labels, float(value)) for labels, value in re.findall(rf"^{name}\{{(.*)\}} (\S+) \d+$", text, re.M)]

    def used() -> float:
        text = page(node, "/metrics/cadvisor")
        return max(
            (size for labels, size in rows("container_fs_usage_bytes", text) if 'pod="busy"' in labels), default=0
        )

    wait_for(lambda: used() >= 2 << 20, 60)  # the runtime looks at what is written each ten seconds
    text = page(node, "/metrics/cadvisor")
    written = [row for row in rows("container_fs_writes_bytes_total", text) if 'pod="busy"' in row[0]]
    of_main = [size for labels, size in written if 'container="main"' in labels]
    of_pod = [size for labels, size in written if 'container=""' in labels]
    if counts_writes():
        assert sum(of_main) >= 3 << 20
        assert sum(of_pod) >= sum(of_main)
    else:
        assert written == [], "nothing is made up"
    (limit,) = [size for labels, size in rows("container_fs_limit_bytes", text) if 'container="main"' in labels]
    assert used() < limit
    of_node = dict(rows("container_fs_io_time_seconds_total", text))
    assert of_node, "the disk of the node"
    assert all('id="/"' in labels and re.search(r'device="[^"]*[a-z]', labels) for labels in of_node)


def test_running_pods_are_what_the_runtime_runs(node: Joined) -> None:
    found = json.loads(page(node, "/runningpods/"))
    assert found["kind"] == "PodList"
    names = {one["metadata"]["name"]: [inner["name"] for inner in one["spec"]["containers"]] for one in found["items"]}
    assert names["busy"] == ["main"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/metrics/slis", 'kubernetes_healthcheck{name="syncloop",type="healthz"} 1'),
        ("/metrics/probes", "process_start_time_seconds 1"),
        ("/flagz", "\nhostname-override=bench"),
        ("/statusz", "\nBinary version: 1.36"),
        ("/debug/pprof/", "goroutine"),
        ("/debug/pprof/goroutine?debug=1", "Process.run"),
        ("/debug/pprof/heap?debug=1", "builtins.function "),
    ],
)
def test_debugging_pages_are_served(node: Joined, path: str, expected: str) -> None:
    assert expected in page(node, path)
