"""What is derived from the declarations of endpoints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from actors.http_servers import endpoints
from actors.http_servers.endpoints import ENDPOINTS
from actors.http_servers.serving.endpoint import Availability, availability, pattern
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

BY_PREFIX = {endpoint.prefix: endpoint for endpoint in ENDPOINTS}


def test_every_module_of_an_endpoint_is_served():
    modules = {path.stem for path in Path(endpoints.__file__).parent.glob("*.py")} - {"__init__"}
    declared = {answer.__module__.rpartition(".")[2] for one in ENDPOINTS for answer in one.answers.values()}
    assert declared == modules


def test_no_two_endpoints_have_one_path():
    paths = [path for endpoint in ENDPOINTS for path in endpoint.paths]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("path", "asked", "names"),
    [
        ("/pods", "/pods", {}),
        ("/pods", "/pods/", {}),
        ("/pods", "/podsx", None),
        ("/exec/{pod}/{uid}", "/exec/a/b", {"pod": "a", "uid": "b"}),
        ("/exec/{pod}/{uid}", "/exec/a/b/c", None),
        ("/exec/{pod}/{uid}", "/exec/a/b/", {"pod": "a", "uid": "b"}),
        ("/exec/{pod}/{uid}", "/exec/a/", None),
        ("/logs/{path*}", "/logs/a/b", {"path": "a/b"}),
        ("/logs/{path*}", "/logs/", {"path": ""}),
    ],
)
def test_a_path_matches_its_pattern(path, asked, names):
    match = re.fullmatch(pattern(path), asked)
    assert (match.groupdict() if match else None) == names


def test_a_slash_after_an_exact_path_makes_it_another_one():
    assert re.fullmatch(pattern("/metrics", exact=True), "/metrics")
    assert not re.fullmatch(pattern("/metrics", exact=True), "/metrics/")
    assert not re.fullmatch(pattern("/healthz/{check}", exact=True), "/healthz/ping/")


def test_the_paths_that_the_kubelet_serves_by_plain_handlers_are_exact():
    plain = {
        "/healthz", "/configz", "/flagz", "/statusz", "/debug/flags/v", "/metrics", "/metrics/cadvisor",
        "/metrics/resource", "/metrics/probes", "/metrics/slis",
    }  # fmt: skip
    assert {one.prefix for one in ENDPOINTS if one.exact} == plain


def test_head_is_answered_wherever_a_plain_handler_answers_get():
    assert all(one.heads for one in ENDPOINTS if one.exact and "GET" in one.answers)


@pytest.mark.parametrize(
    ("prefix", "fields", "read_only", "expected"),
    [
        ("/pods", {}, False, Availability.SERVED),
        ("/pods", {}, True, Availability.SERVED),
        ("/pods", {"enableDebuggingHandlers": False}, False, Availability.SERVED),
        ("/configz", {}, True, Availability.ABSENT),
        ("/exec", {}, False, Availability.SERVED),
        ("/exec", {}, True, Availability.DISABLED),
        ("/exec", {"enableDebuggingHandlers": False}, False, Availability.DISABLED),
        ("/logs", {"enableSystemLogHandler": False}, False, Availability.DISABLED),
        ("/logs", {"enableSystemLogHandler": True}, False, Availability.SERVED),
        ("/debug/flags/v", {"enableDebuggingHandlers": False}, False, Availability.ABSENT),
        ("/flagz", {"featureGates": {"ComponentFlagz": False}}, False, Availability.ABSENT),
        ("/flagz", {"featureGates": {"ComponentFlagz": True}}, False, Availability.SERVED),
    ],
)
def test_an_endpoint_is_served_by_its_servers_gate_and_switch(prefix, fields, read_only, expected):
    config = KubeletConfiguration(**fields)
    assert availability(BY_PREFIX[prefix], config, read_only=read_only) is expected


def test_only_healthz_needs_no_credentials_on_a_standalone_node():
    assert [one.prefix for one in ENDPOINTS if one.open_standalone] == ["/healthz"]


def test_streams_logs_and_profiles_are_counted_as_long_running():
    found = {one.prefix for one in ENDPOINTS if one.long_running}
    assert found == {"/attach", "/exec", "/portForward", "/containerLogs", "/debug/pprof"}
