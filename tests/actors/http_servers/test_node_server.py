"""The node server over real TLS, its neighbours faked."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import re
import ssl
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from actors.cert_manager import self_signed
from actors.cert_manager.messages import ServingCertificate
from actors.http_servers.container_logs import reader
from actors.shared.config.fields.groups import Tracing
from actors.shared.tracing.exporter import EVERY_SECONDS
from actors.status_manager.messages import GetPods, GetPodStatus, Pods
from supervision.errors import AskError
from supervision.protocol import (
    GetMetrics,
    GetTree,
    MetricSample,
    MetricsSnapshot,
)
from tests.support.certificates import Authority
from tests.support.collector import Collector
from tests.support.served_node import STAMP, Node, serve, status


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/healthz", (200, "ok")),
        ("/healthz/ping", (200, "ok")),
        ("/pods", (200, '{"kind":"PodList","items":[]}')),
        ("/configz", (200, '{"kubeletconfig":{}}')),
        ("/nowhere", (404, "404 page not found\n")),
        ("/%70ods", (200, '{"kind":"PodList","items":[]}')),
        ("https://other/pods", (200, '{"kind":"PodList","items":[]}')),
        ("/containerLogs/d/q/c", (404, 'pod "q" does not exist')),
        ("/containerLogs/d/p/z", (404, 'container "z" not found in pod "p"')),
        ("/containerLogs/d/..%2f..%2fetc/c", (404, 'pod "../../etc" does not exist')),
    ],
)
def test_a_client_of_the_ca_is_answered(tmp_path, path, expected):
    async def story(node: Node) -> None:
        assert await node.fetch(path) == expected

    serve(Node(tmp_path), story)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("//pods", "/pods"),
        ("/pods/../healthz?verbose", "/healthz?verbose"),
        ("/%2e/nowhere", "/nowhere"),
        ("/logs", "/logs/"),
    ],
)
def test_a_path_with_empty_segments_or_dots_is_redirected(tmp_path, path, place):
    async def story(node: Node) -> None:
        status, _, headers = await node.send("GET", path)
        assert (status, headers["Location"]) == (307, place)
        assert (await node.fetch(path, client=None))[0] == 401

    serve(Node(tmp_path), story)


def test_a_connect_request_is_not_redirected(tmp_path):
    async def story(node: Node) -> None:
        assert [(await node.send("CONNECT", path))[0] for path in ("//pods", "/pods")] == [405, 405]

    serve(Node(tmp_path), story)


@pytest.mark.parametrize("method", ["FOO", "PREPARE", "CONNECT"])
def test_an_unknown_method_is_refused_after_its_caller_is_known(tmp_path, method):
    async def story(node: Node) -> None:
        assert await node.fetch("/pods", client=None, method=method) == (401, "Unauthorized")
        assert await node.fetch("/pods", method=method) == (405, "405: Method Not Allowed")
        assert (await node.fetch("/none", method=method))[0] == 405

    serve(Node(tmp_path), story)


def test_a_page_of_metrics_is_compressed_on_request(tmp_path):
    async def story(node: Node) -> None:
        client = node.authority.client("admin", "system:masters")

        def get(accepted: str) -> tuple[str | None, bytes]:
            connection = node.connection(client)
            connection.request("GET", "/metrics/slis", headers={"Accept-Encoding": accepted})
            response = connection.getresponse()
            found = response.headers["Content-Encoding"], response.read()
            connection.close()
            return found

        plain = await asyncio.to_thread(get, "identity")
        assert plain[0] is None
        assert (await asyncio.to_thread(get, "gzip;q=0"))[0] is None
        encoding, packed = await asyncio.to_thread(get, "deflate, gzip")
        assert encoding == "gzip"
        assert gzip.decompress(packed)[:200] == plain[1][:200]

    serve(Node(tmp_path), story)


METHODS = [
    ("HEAD", "/healthz", 200),
    ("HEAD", "/healthz/syncloop", 200),
    ("HEAD", "/healthz/nothing", 404),
    ("HEAD", "/metrics/slis", 200),
    ("HEAD", "/configz", 200),
    ("HEAD", "/pods", 405),
    ("POST", "/pods", 405),
    ("PATCH", "/configz", 405),
    ("OPTIONS", "/pods", 405),
    ("GET", "/run/d/p/c", 405),
    ("GET", "/checkpoint/d/p/c", 405),
    ("GET", "/debug/flags/v", 405),
    ("DELETE", "/containerLogs/d/p/c", 405),
    ("DELETE", "/metrics/slis", 200),
    ("HEAD", "/nowhere", 404),
]


def test_a_refused_method_is_answered_with_the_allowed_ones(tmp_path):
    async def story(node: Node) -> None:
        for path, allowed in (("/pods", "GET"), ("/exec/d/p/c", "GET, POST"), ("/run/d/p/c", "POST")):
            for method in ("PUT", "FOO"):
                status, _, headers = await node.send(method, path)
                assert (status, headers["Allow"]) == (405, allowed)

    serve(Node(tmp_path), story)


def test_a_stopped_container_is_an_error_and_a_missing_pod_a_404(tmp_path):
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}

    async def story(node: Node) -> None:
        for path, expected in (
            ("/exec/d/q/c?output=1&command=ls", (404, "pod does not exist")),
            ("/exec/d/q/c?command=ls", (400, "you must specify at least 1 of stdin, stdout, stderr")),
            ("/attach/d/q/c", (400, "you must specify at least 1 of stdin, stdout, stderr")),
            ("/exec/d/p/z?output=1&command=ls", (500, 'container not found ("z")')),
            ("/attach/d/p/z?output=1", (500, "container z not found in pod p_d")),
        ):
            assert (await node.send("POST", path, upgrade))[:2] == expected
            # A missing upgrade is said last, as with the kubelet.
            assert (await node.send("POST", path, {}))[:2] == expected

    serve(Node(tmp_path), story)


def test_each_method_is_answered_or_refused_as_not_allowed(tmp_path):
    async def story(node: Node) -> None:
        for method, path, code in METHODS:
            found, text = await node.fetch(path, method=method)
            assert found == code, (method, path)
            if method == "HEAD":
                assert text == ""
            elif code == 405:
                assert text == "405: Method Not Allowed"

    serve(Node(tmp_path), story)


def test_a_command_of_a_hundred_thousand_characters_is_accepted_with_a_certificate(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        target = f"/exec/d/p/c?command={'x' * 100_000}"
        status, text = await node.fetch(target, method="POST")
        assert (status, text) == (400, "you must specify at least 1 of stdin, stdout, stderr")
        with pytest.raises((ConnectionError, ssl.SSLError)):  # while it sends, or when it waits for an answer
            await node.fetch(target, client=None)

    serve(Node(tmp_path), story)


@pytest.mark.parametrize("path", ["/pods", "/configz", "/metrics", "/containerLogs/d/p/c", "/nowhere", "/exec/d/p/c"])
def test_without_a_certificate_everything_but_healthz_is_refused(tmp_path, path):
    async def story(node: Node) -> None:
        assert await node.fetch(path, client=None) == (401, "Unauthorized")
        assert (await node.fetch("/healthz", client=None))[0] == 200

    serve(Node(tmp_path), story)


def test_no_caller_is_authenticated_without_a_ca(tmp_path):
    async def story(node: Node) -> None:
        assert (await node.fetch("/pods"))[0] == 401
        assert (await node.fetch("/healthz"))[0] == 200

    serve(Node(tmp_path, with_ca=False), story)


def test_a_certificate_of_another_ca_counts_for_nothing(tmp_path):
    async def story(node: Node) -> None:
        stranger = Authority(tmp_path / "other").client("admin", "system:masters")
        assert (await node.fetch("/pods", client=stranger))[0] == 401
        assert (await node.fetch("/healthz", client=stranger))[0] == 200
        assert (await node.fetch("/pods"))[0] == 200

    serve(Node(tmp_path), story)


def test_a_new_serving_certificate_is_used_by_new_connections(tmp_path):
    async def story(node: Node) -> None:
        assert (await node.fetch("/pods"))[0] == 200
        node.cert = (str(tmp_path / "t.crt"), str(tmp_path / "t.key"))
        self_signed.create(*node.cert, "n", ["127.0.0.1"])
        await node.harness.deliver(ServingCertificate(*node.cert, node.ca, 2), "cert_manager")
        assert (await node.fetch("/pods"))[0] == 200

    serve(Node(tmp_path), story)


@pytest.mark.parametrize(("kept", "code"), [(True, 200), (False, 401)])
def test_a_removed_ca_invalidates_its_clients_on_open_connections(tmp_path, kept, code):
    def ask(connection: http.client.HTTPSConnection) -> int:
        connection.request("GET", "/pods")
        response = connection.getresponse()
        response.read()
        return response.status

    async def story(node: Node) -> None:
        context = ssl.create_default_context(cafile=node.cert[0])
        context.load_cert_chain(*node.authority.client("admin", "system:masters"))
        connection = http.client.HTTPSConnection("127.0.0.1", node.port, context=context, timeout=5)
        assert await asyncio.to_thread(ask, connection) == 200
        pool = tmp_path / "pool.crt"
        other = Authority(tmp_path / "other").path.read_bytes()
        pool.write_bytes(other + (node.authority.path.read_bytes() if kept else b""))
        await node.harness.deliver(ServingCertificate(*node.cert, str(pool), 2), "cert_manager")
        assert await asyncio.to_thread(ask, connection) == code
        connection.close()

    serve(Node(tmp_path), story)


def test_a_broken_new_certificate_leaves_the_old_one_in_use(tmp_path):
    async def story(node: Node) -> None:
        (tmp_path / "bad").write_text("no")
        bad = str(tmp_path / "bad")
        await node.harness.deliver(ServingCertificate(bad, bad, node.ca, 2), "cert_manager")
        assert (await node.fetch("/pods"))[0] == 200

    serve(Node(tmp_path), story)


def test_metrics_describe_every_actor_and_the_tree(tmp_path):
    async def story(node: Node) -> None:
        sample = MetricSample("histogram", "kubelet_pleg_relist_duration_seconds", {}, 0.3, [0.1, 1.0], [1, 1, 0])
        node.answer(GetMetrics, lambda _: MetricsSnapshot("pleg", 1, [sample]))
        code, text = await node.fetch("/metrics")
        assert code == 200
        assert 'troupelet_actor_restarts_total{actor="pod_workers/worker/0"} 2\n' in text
        assert 'kubelet_pleg_relist_duration_seconds_bucket{le="1"} 2\n' in text
        assert "kubelet_pleg_relist_duration_seconds_count 2\n" in text
        own = re.findall(r'(?m)^kubelet_http_requests_total{.*path="metrics".*} (\d+)$', text)
        assert own == ["1"], "the server's own metrics"

    serve(Node(tmp_path), story)


def test_a_page_without_the_tree_says_that_the_fork_server_did_not_answer(tmp_path):
    async def story(node: Node) -> None:
        node.answer(GetTree, AskError("silent"))
        code, text = await node.fetch("/metrics")
        assert code == 200
        assert "\ntroupelet_actor_restarts_total{" not in text
        assert 'troupelet_scrape_failures_total{actor="fork_server"} 1\n' in text

    serve(Node(tmp_path), story)


@pytest.mark.parametrize("page", ["", "/cadvisor", "/resource", "/probes", "/slis"])
def test_each_page_of_metrics_is_served_as_openmetrics_on_request(tmp_path, page):
    async def story(node: Node) -> None:
        node.answer(GetMetrics, lambda _: MetricsSnapshot("prober", 1, []))
        code, text = await node.fetch(f"/metrics{page}", accept="application/openmetrics-text; version=1.0.0")
        assert (code, text[-6:]) == (200, "# EOF\n")
        assert list(text_string_to_metric_families(text)), text

    serve(Node(tmp_path, runtimeRequestTimeout=1), story)


def test_the_log_of_a_running_container_is_streamed(tmp_path):
    folder = tmp_path / "logs" / "d_p_u" / "c"
    folder.mkdir(parents=True)
    (folder / "1.log").write_text(f"{STAMP} stdout F hello\n{STAMP} stdout F world\n")
    (folder / "0.log").write_text(f"{STAMP} stdout F before\n")

    async def story(node: Node) -> None:
        assert await node.fetch("/containerLogs/d/p/c") == (200, "hello\nworld\n")
        assert await node.fetch("/containerLogs/d/p/c?tailLines=1&timestamps=true") == (200, f"{STAMP} world\n")
        assert (await node.fetch("/containerLogs/d/p/c?tailLines=x"))[0] == 400
        assert (await node.fetch("/containerLogs/d/p/c?tailLines="))[0] == 400
        assert (await node.fetch("/containerLogs/d/p/c?tailLines=-1"))[0] == 422
        gate = "Please enable PodLogsQuerySplitStreams feature gate in kubelet"
        refused = (400, f'unable to return the given log stream: "Stdout". {gate}')
        assert await node.fetch("/containerLogs/d/p/c?stream=Stdout") == refused
        assert await node.fetch("/containerLogs/d/p/c?stream=All") == (200, "hello\nworld\n")
        assert (await node.fetch("/containerLogs/d/p/c?stream="))[0] == 422
        assert await node.fetch("/containerLogs/d/p/c/") == (200, "hello\nworld\n")
        assert (await node.fetch("/containerLogs/d/p/c?previous=true"))[0] == 400
        last = {"terminated": {"exitCode": 1, "containerID": "containerd://w"}}
        node.pod_is(status(running={"startedAt": STAMP}, last=last))
        assert await node.fetch("/containerLogs/d/p/c?previous=true") == (200, "before\n")
        node.pod_is(status(waiting={"reason": "ContainerCreating"}))
        code, text = await node.fetch("/containerLogs/d/p/c")
        assert (code, "waiting to start: ContainerCreating" in text) == (400, True)
        for reason, words in (
            ("ErrImagePull", "image can't be pulled"),
            ("ImagePullBackOff", "trying and failing to pull image"),
            ("InvalidImageName", "InvalidImageName"),
        ):
            node.pod_is(status(waiting={"reason": reason}))
            assert await node.fetch("/containerLogs/d/p/c") == (
                400,
                f'container "c" in pod "p" is waiting to start: {words}',
            )

    serve(Node(tmp_path), story)


def test_the_answer_begins_when_the_log_is_open_and_not_with_its_first_line(tmp_path):
    folder = tmp_path / "logs" / "d_p_u" / "c"
    folder.mkdir(parents=True)
    log = folder / "1.log"
    log.touch()

    def follow(node: Node) -> str:
        connection = node.connection(node.authority.client("admin", "system:masters"), timeout=30)
        try:
            connection.request("GET", "/containerLogs/d/p/c?follow=true&tailLines=1")
            response = connection.getresponse()
            assert response.status == 200
            log.write_text(f"{STAMP} stdout F hello\n")
            return response.readline().decode()
        finally:
            connection.close()

    async def story(node: Node) -> None:
        assert await asyncio.to_thread(follow, node) == "hello\n"

    serve(Node(tmp_path), story)


def test_a_followed_log_ends_when_its_container_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(reader, "ENDED_POLL_SECONDS", 0.02)
    folder = tmp_path / "logs" / "d_p_u" / "c"
    folder.mkdir(parents=True)
    (folder / "1.log").write_text(f"{STAMP} stdout F hello\n")

    async def story(node: Node) -> None:
        following = asyncio.create_task(node.fetch("/containerLogs/d/p/c?follow=true"))
        asked = lambda: sum(isinstance(question, GetPodStatus) for _, question in node.harness.asks)  # noqa: E731
        await node.harness.wait(lambda: asked() >= 3, "whether the container runs, is asked for")
        assert not following.done()
        node.answer(GetPodStatus, AskError("the status manager is restarting"))
        count = asked()
        await node.harness.wait(lambda: asked() >= count + 2, "that is asked for again")
        assert not following.done()
        node.pod_is(status(terminated={"exitCode": 0, "containerID": "containerd://c"}))
        assert await asyncio.wait_for(following, 20) == (200, "hello\n")

    serve(Node(tmp_path), story)


def test_pods_that_come_in_pages_are_one_list(tmp_path):
    pages = {"": Pods(b'{"items":[{"a":1},{"b":2}]}', rest="b"), "b": Pods(b'{"items":[{"c":3}]}')}

    async def story(node: Node) -> None:
        node.answer(GetPods, lambda question: pages[question.after])
        code, text = await node.fetch("/pods")
        assert code == 200
        assert json.loads(text) == {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [{"a": 1}, {"b": 2}, {"c": 3}],
        }

    serve(Node(tmp_path), story)


def test_an_actor_that_does_not_answer_lacks_only_its_own_page(tmp_path):
    async def story(node: Node) -> None:
        node.answer(GetPods, AskError("silent"))
        assert (await node.fetch("/pods"))[0] == 503
        assert (await node.fetch("/configz"))[0] == 200

    serve(Node(tmp_path), story)


def test_stats_without_a_runtime_are_an_error_and_counted_in_the_metrics(tmp_path):
    async def story(node: Node) -> None:
        code, text = await node.fetch("/stats/summary")
        assert (code, "runtime" in text) == (500, True)
        code, text = await node.fetch("/runningpods/")
        assert (code, text[:36]) == (500, "rpc error: code = Unavailable desc =")
        code, text = await node.fetch("/metrics/resource")
        assert (code, "\nresource_scrape_error 1\n" in text) == (200, True)
        assert "\nscrape_error" not in text

    serve(Node(tmp_path, runtimeRequestTimeout=1), story)


def test_requests_are_spans_at_the_collector_if_tracing_is_configured(tmp_path):
    with Collector() as collector:

        async def story(node: Node) -> None:
            assert (await node.fetch("/pods", client=None))[0] == 401
            assert (await node.fetch("/pods"))[0] == 200
            await node.harness.advance(2 * EVERY_SECONDS)
            await node.harness.wait(lambda: bool(collector.spans), "a span", timeout=30)

        serve(Node(tmp_path, tracing=Tracing(endpoint=collector.endpoint, samplingRatePerMillion=1_000_000)), story)
    (span,) = collector.spans
    assert (span.name, span.scope, span.attributes["url.scheme"], span.attributes["http.response.status_code"]) == (
        "/pods", "http_servers/node_server", "https", 200,
    )  # fmt: skip
