"""The paths for debugging and the read-only server: which are there, and by which switches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from actors.http_servers.endpoints.checkpoint import stamp
from actors.http_servers.node_server import ReadOnlyServer
from supervision.protocol import (
    FORK_SERVER,
    GetMetrics,
    MetricsSnapshot,
    SetLogging,
)
from tests.support.served_node import Node, serve, status

pytestmark = pytest.mark.slow


def test_debugging_paths_can_be_switched_off(tmp_path):
    async def story(node: Node) -> None:
        assert await node.fetch("/containerLogs/d/p/c") == (405, "Debug endpoints are disabled.\n")

    serve(Node(tmp_path, enableDebuggingHandlers=False), story)


@pytest.mark.parametrize(
    ("switch", "path", "what"),
    [
        ("enableSystemLogHandler", "/logs/x", "logs"),
        ("enableProfilingHandler", "/debug/pprof/heap", "profiling"),
        ("enableDebugFlagsHandler", "/debug/flags/v", "flags"),
    ],
)
def test_a_path_that_is_switched_off_by_itself_is_reported(tmp_path, switch, path, what):
    async def story(node: Node) -> None:
        assert await node.fetch(path) == (405, f"{what} endpoint is disabled.\n")

    off: dict[str, Any] = {switch: False}
    serve(Node(tmp_path, **off), story)


def test_the_read_only_server_has_only_what_is_harmless(tmp_path):
    async def story(node: Node) -> None:
        assert await node.fetch("/logs/x") == (405, "Debug endpoints are disabled.\n")
        assert (await node.fetch("/pods"))[0] == 200
        for path in ("/exec/d/p/c", "/containerLogs/d/p/c", "/run/d/p/c", "/logs/x"):
            assert (await node.fetch(path))[0] == 405
        assert (await node.fetch("/configz"))[0] == 404

    serve(Node(tmp_path, actor=ReadOnlyServer), story)


@pytest.mark.parametrize(
    ("switches", "path", "method", "code"),
    [
        ({}, "/debug/pprof/heap", "GET", 200),
        ({}, "/debug/pprof/goroutine?debug=1", "GET", 200),
        ({}, "/debug/pprof/profile?seconds=0.01", "GET", 200),
        ({}, "/debug/pprof/profile?seconds=1000", "GET", 400),
        ({}, "/debug/pprof/mutex", "GET", 200),
        ({}, "/debug/pprof/nothing", "GET", 404),
        ({}, "/debug/pprof/trace", "GET", 404),
        ({}, "/debug/pprof/heap", "POST", 405),
        ({"enableProfilingHandler": False}, "/debug/pprof/heap", "GET", 405),
        ({}, "/logs/", "GET", 200),
        ({}, "/logs", "GET", 307),
        ({}, "/logs/..%2f..%2fetc%2fpasswd", "GET", 404),
        ({"enableSystemLogHandler": False}, "/logs/", "GET", 405),
        ({"enableDebugFlagsHandler": False}, "/debug/flags/v", "PUT", 405),
        ({}, "/debug/flags/v", "PUT", 400),
        ({"enableSystemLogQuery": True}, "/logs/?query=a&query=/b", "GET", 406),
        ({"enableSystemLogQuery": True}, "/logs/?tailLines=1", "GET", 406),
        ({"enableSystemLogQuery": True}, "/logs/?query=", "GET", 400),
        ({"enableSystemLogQuery": True}, "/logs/syslog?query=a", "GET", 406),
        ({"enableSystemLogQuery": True}, "/logs/?other=1", "GET", 200),
        ({}, "/logs/?query=a&query=/b", "GET", 200),
        ({}, "/checkpoint/d/q/c", "POST", 404),
        ({}, "/checkpoint/d/p/z", "POST", 404),
        ({}, "/checkpoint/d/p/c?timeout=x", "POST", 404),
        ({"featureGates": {"ContainerCheckpoint": False}}, "/checkpoint/d/p/c", "POST", 404),
        ({"featureGates": {"ComponentFlagz": False}}, "/flagz", "GET", 404),
        ({"enableDebuggingHandlers": False}, "/runningpods/", "GET", 405),
        ({"enableDebuggingHandlers": False}, "/logs/", "GET", 405),
        ({"enableDebuggingHandlers": False}, "/flagz", "GET", 404),
        ({"enableDebuggingHandlers": False}, "/metrics/slis", "GET", 200),
    ],
)
def test_debugging_paths_are_there_by_their_switches(tmp_path, switches, path, method, code):
    async def story(node: Node) -> None:
        assert (await node.fetch(path, method=method))[0] == code

    serve(Node(tmp_path, **switches), story)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/checkpoint/d/q/c", (404, "pod does not exist")),
        ("/checkpoint/d/p/z?timeout=x", (404, "container z does not exist")),
        ("/checkpoint/d/p/c?timeout=x", (404, "cannot parse value of timeout parameter")),
        ("/checkpoint/d/p/c", (500, "checkpointing of d/p/c failed (container c not found)")),
    ],
)
def test_a_failed_checkpoint_has_the_kubelets_answer(tmp_path, path, answer):
    async def story(node: Node) -> None:
        node.pod_is(status(terminated={"exitCode": 0}))
        assert await node.fetch(path, method="POST") == answer

    serve(Node(tmp_path), story)


def test_the_time_in_the_name_of_a_checkpoint_is_as_go_writes_it():
    assert stamp(datetime(2026, 1, 2, 3, 4, 5, 6, UTC)) == "2026-01-02T03:04:05Z"
    assert stamp(datetime(2026, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=-7)))) == "2026-01-02T03:04:05-07:00"


@pytest.mark.parametrize(
    ("path", "code"), [("/metrics/slis", 200), ("/metrics/probes", 200), ("/logs/", 405), ("/flagz", 404)]
)
def test_the_read_only_server_has_the_harmless_paths(tmp_path, path, code):
    async def story(node: Node) -> None:
        node.answer(GetMetrics, lambda _: MetricsSnapshot("prober", 1, []))
        assert (await node.fetch(path))[0] == code

    serve(Node(tmp_path, actor=ReadOnlyServer), story)


@pytest.mark.parametrize("path", ["/metrics/slis", "/metrics/probes"])
def test_a_page_of_its_own_shows_when_the_agent_was_started(tmp_path, path):
    async def story(node: Node) -> None:
        node.answer(GetMetrics, lambda _: MetricsSnapshot("prober", 1, []))
        _, page = await node.fetch(path)
        assert "\nprocess_start_time_seconds 1" in page

    serve(Node(tmp_path), story)


def test_a_verbosity_is_an_order_to_the_fork_server(tmp_path):
    async def story(node: Node) -> None:
        assert await node.fetch("/debug/flags/v", method="PUT", body=b"4") == (
            200,
            "successfully set klog.logging.verbosity to 4",
        )
        assert await node.fetch("/debug/flags/v", method="PUT", body=b"much") == (
            400,
            'failed set klog.logging.verbosity much: strconv.ParseInt: parsing "much": invalid syntax\n',
        )
        assert (await node.fetch("/debug/flags/v", method="PUT", body=b"0" * 9 + b"101"))[0] == 400
        assert [order.verbosity for order in node.harness.sent(SetLogging, to=FORK_SERVER)] == [4]

    serve(Node(tmp_path), story)
