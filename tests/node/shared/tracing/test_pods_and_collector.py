"""A whole agent with real containers and a collector: a pod's start is one trace over actors; the collector may die."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.collector import Collector, Received
from tests.support.faulty_node import NODE_NAME, FaultyNode
from tests.support.runtime import RealRuntime

pytestmark = [pytest.mark.node, pytest.mark.slow]
SERVICE = "runtime.v1.RuntimeService/"


class TracedNode(FaultyNode):
    """Its collector is `collector`; every span is sampled."""

    def __init__(self, runtime: RealRuntime, collector: Collector) -> None:
        self.collector = collector
        super().__init__(runtime, "traced")

    def _configuration(self) -> dict[str, object]:
        tracing = {"endpoint": self.collector.endpoint, "samplingRatePerMillion": 1_000_000}
        return {**super()._configuration(), "tracing": tracing}


@pytest.fixture
def node(session_runtime: RealRuntime) -> Iterator[TracedNode]:
    with Collector() as collector:
        agent = TracedNode(session_runtime, collector)
        agent.start()
        agent.wait_whole()
        yield agent
    agent.remove()
    subprocess.run(["umount", "-q", f"{agent.home}/root/pods"], check=False)
    shutil.rmtree(agent.home)


def test_a_pods_start_is_one_trace_and_a_dead_collector_harms_no_pod(node: TracedNode) -> None:
    node.add("t")
    node.wait_running("t")
    collector = node.collector
    started = collector.wait_for(f"{SERVICE}StartContainer")
    trace = collector.wait(lambda spans: whole(spans, started.trace_id), "root of the trace and its image")
    (root,) = (span for span in trace if not span.parent_id)
    assert (root.name, root.attributes["k8s.pod.name"], root.error) == ("syncPod", f"t-{NODE_NAME}", None)
    calls = {span.name.partition("/")[2]: span for span in trace if span.kind == "client"}
    assert {"RunPodSandbox", "CreateContainer", "StartContainer", "ImageStatus"} <= set(calls)
    assert (calls["RunPodSandbox"].parent_id, calls["ImageStatus"].parent_id) == (root.span_id, root.span_id)
    assert (calls["ImageStatus"].scope, root.scope.startswith("pod_workers/worker/")) == ("image_manager", True)
    assert {span.resource["host.name"] for span in trace} == {NODE_NAME}

    collector.__exit__()
    node.add("u")
    node.wait_running("t", "u")
    node.withdraw("t")
    node.withdraw("u")
    node.wait_gone("t", "u")
    assert node.healthy()
    assert node.incidents() == []


def whole(spans: list[Received], trace_id: str) -> list[Received]:
    """The trace, once all actors that have a part in it have told it."""
    trace = [span for span in spans if span.trace_id == trace_id]
    told = {span.scope for span in trace}
    return trace if "image_manager" in told and any(not span.parent_id for span in trace) else []
