"""What the clients have in common."""

from __future__ import annotations

import asyncio
import logging

import pytest

from actors.api_clients.event_client.actor import EventClient
from actors.api_clients.event_client.messages import GetRecentEvents, RecordEvent
from actors.api_clients.heartbeat_client.actor import HeartbeatClient
from actors.api_clients.kube_client.actor import KubeClient
from actors.api_clients.kube_client.messages import ApiCall
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.token_bucket import TokenBucket
from supervision.testing.harness import Harness
from tests.support.apiserver import Answer, ApiServer, Reply, Request
from tests.support.present import present


@pytest.mark.parametrize("client", [KubeClient, EventClient])
def test_each_client_reports_that_it_is_standalone(client):
    async def story() -> None:
        async with Harness(client, name="api_clients/x", context=Agent()) as harness:
            assert harness.actor._mode == "standalone"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("client", "given", "waits"),
    [
        (KubeClient, {"kubeAPIQPS": 10, "kubeAPIBurst": 1}, 0.1),
        (EventClient, {"eventRecordQPS": 10, "eventBurst": 1}, 0.1),
        (KubeClient, {"kubeAPIQPS": 0, "kubeAPIBurst": 1}, 0.2),
        (HeartbeatClient, {"kubeAPIQPS": 1, "kubeAPIBurst": 1, "eventRecordQPS": 1, "eventBurst": 1}, 0.0),
    ],
)
def test_each_client_is_held_to_the_limit_of_the_configuration_and_heartbeats_to_none(client, given, waits):
    actor = Harness(client, name="api_clients/x", context=Agent(config=KubeletConfiguration(**given))).actor
    limits = {"qps": 0.0, "burst": 0, **actor.limits()}
    bucket = TokenBucket(limits["qps"], limits["burst"])
    assert (bucket.reserve(0.0), bucket.reserve(0.0)) == (0.0, waits)


def test_each_client_waits_for_its_missing_kubeconfig_and_reports_it(tmp_path):
    agent = Agent(standalone=False, kubeconfig=str(tmp_path / "none"))

    async def story() -> None:
        async with Harness(KubeClient, name="api_clients/x", context=agent) as harness:
            actor = harness.actor
            assert (actor._mode, "none: No such file" in actor._error) == ("joining", True)

    asyncio.run(story())


def test_a_warning_of_the_server_is_reported_once(tmp_path, caplog):
    async def script(request: Request) -> Reply:
        return Answer(headers=[("Warning", '299 - "spec.x is deprecated"')])

    async def story() -> None:
        async with ApiServer(tmp_path, script) as server:
            agent = Agent(standalone=False, node_name="n1", kubeconfig=server.kubeconfig())
            async with Harness(KubeClient, name="api_clients/kube_client", context=agent) as harness:
                for _ in range(3):
                    await harness.deliver(ApiCall(method="POST", path="/x", body=b"{}"))
            await present(harness.actor.client).close()

    asyncio.run(story())
    assert caplog.text.count("the API server warns: spec.x is deprecated") == 1


def test_an_event_is_a_line_of_the_log_and_a_number(caplog):
    event = RecordEvent(kind="Pod", namespace="d", name="p", type="Warning", reason="BackOff", message="again")

    async def story() -> None:
        async with Harness(EventClient, name="event_client", context=Agent()) as harness:
            await harness.deliver(event)
            samples = harness.actor.metrics.snapshot("x", 1).samples
            assert [(s.labels["reason"], s.value) for s in samples] == [("BackOff", 1)]

    with caplog.at_level(logging.INFO):
        asyncio.run(story())
    assert 'event Pod d/p BackOff: "again"' in caplog.text


def test_an_event_that_comes_each_second_does_not_fill_the_log(caplog):
    event = RecordEvent(kind="Pod", namespace="d", name="p", type="Warning", reason="Unhealthy", message="no")

    async def story() -> None:
        async with Harness(EventClient, name="event_client", context=Agent()) as harness:
            for _ in range(1000):
                await harness.deliver(event)
            (found,) = (await harness.deliver(GetRecentEvents())).events
            assert found.count == 1000

    with caplog.at_level(logging.INFO):
        asyncio.run(story())
    lines = [record.getMessage() for record in caplog.records if "Unhealthy" in record.getMessage()]
    assert len(lines) == 10
    assert lines[-1] == 'event Pod d/p Unhealthy: "no"  (x512)'
