"""The client of everybody else, against the API server of the tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client import refused_collections
from actors.api_clients.kube_client.actor import UPKEEP_SECONDS, KubeClient
from actors.api_clients.kube_client.messages import (
    ApiAnswer,
    ApiCall,
    GetObject,
    GetServices,
    ObjectChanged,
    ObjectRef,
    Services,
)
from actors.api_clients.messages import CredentialsChanged
from actors.config_controller.messages import ConfigMapAssigned
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import Tracing
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.tracing.exporter import EVERY_SECONDS
from actors.status_manager.messages import STATUS_MANAGER
from supervision.process_messages import Hello, ServiceState
from supervision.protocol import FORK_SERVER
from supervision.testing.harness import Harness
from tests.support.apiserver import ApiServer
from tests.support.apiserver.authorizer import Grant
from tests.support.apiserver.objects import Obj
from tests.support.collector import Collector

pytestmark = pytest.mark.slow

SETTINGS = ObjectRef("ConfigMap", "settings", "web")
MOUNTED: dict[str, Any] = {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}
NODE = "system:node:n1"


@asynccontextmanager
async def cluster(folder: Path, bookmark_seconds: float = 60.0) -> AsyncIterator[ApiServer]:
    """A server with the namespace `web`, and nobody who acts by himself."""
    async with ApiServer(
        folder / "api",
        scheduler=False,
        service_accounts=False,
        node_lifecycle=False,
        bookmark_seconds=bookmark_seconds,
    ) as server:
        server.create("namespaces", {"metadata": {"name": "web"}})
        yield server


def add_pod(server: ApiServer, name: str, **spec: Any) -> Obj:
    """A pod of the node."""
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1", **spec}
    return server.create("pods", {"metadata": {"name": name}, "spec": spec}, "web")


def add_settings(server: ApiServer, value: str = "1", **more: Any) -> Obj:
    return server.create("configmaps", {"metadata": {"name": "settings"}, "data": {"k": value}, **more}, "web")


def joined(server: ApiServer, **config: Any) -> Agent:
    path = server.node_kubeconfig("n1")
    return Agent(standalone=False, node_name="n1", kubeconfig=path, config=KubeletConfiguration(**config))


@asynccontextmanager
async def harness_of(agent: Agent) -> AsyncIterator[Harness]:
    async with Harness(KubeClient, name="api_clients/kube_client", context=agent) as harness:
        yield harness
    if harness.actor.client is not None:
        await harness.actor.client.close()


async def watching(harness: Harness, server: ApiServer, *resources: str) -> None:
    """Until each of these is watched."""
    for resource in resources:
        await harness.wait(
            lambda: bool(server.requests_for("watch", resource)) and server.store.is_watched(resource),  # noqa: B023
            f"a watch of {resource}",
        )


def names(told: SourcePods) -> list[str]:
    return [json.loads(each)["metadata"]["name"] for each in told.pods]


async def test_pods_are_reported_first_as_a_list_and_then_one_by_one(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        first = add_pod(server, "a")
        add_pod(server, "elsewhere", nodeName="n2")
        async with harness_of(joined(server)) as harness:
            for receiver in ("pod_config", "status_manager"):
                told = await harness.wait_sent(SourcePods, to=receiver)
                assert [json.loads(each)["metadata"] for each in told.pods] == [first["metadata"]]
            await watching(harness, server, "pods")
            made = add_pod(server, "b")
            server.delete("pods", "b", "web", gracePeriodSeconds=0)
            added = await harness.wait_sent(SourcePod, to="pod_config")
            gone = await harness.wait_sent(SourcePod, to="pod_config", count=2)
            assert (added.uid, json.loads(added.pod)) == (made["metadata"]["uid"], made)
            assert (gone.uid, gone.pod) == (made["metadata"]["uid"], b"")
            assert "fieldSelector=spec.nodeName%3Dn1" in server.requests_for("list", "pods")[0].target
            assert (harness.actor._mode, harness.actor._error) == ("joined", "")


async def test_an_interrupted_watch_resumes_where_it_was(tmp_path: Path) -> None:
    async with cluster(tmp_path, bookmark_seconds=0.05) as server, harness_of(joined(server)) as harness:
        await watching(harness, server, "nodes")
        version = add_settings(server)["metadata"]["resourceVersion"]

        def continued() -> bool:
            return any(f"resourceVersion={version}" in each.target for each in server.requests_for("watch", "nodes"))

        for _ in range(100):  # a bookmark brings it to that version, without a word of the object
            await asyncio.sleep(0.1)
            server.drop_connections()
            if continued():
                break
        await harness.wait(continued, "a second watch")
        assert len(server.requests_for("list", "nodes")) == 1


async def test_a_version_that_is_too_old_causes_a_new_list(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a")
        await harness.wait_sent(SourcePods, to="pod_config")
        await watching(harness, server, "pods")
        server.fault("expired", verb="watch", resource="pods", times=1)
        server.store.end_watches("pods")
        add_pod(server, "c")
        assert names(await harness.wait_sent(SourcePods, to="pod_config", count=2)) == ["a", "c"]


@pytest.mark.parametrize(("status", "body"), [(500, "oops"), (429, "{}"), (401, "{}"), (200, '{"items":'), (403, "")])
async def test_a_server_that_fails_at_first_only_delays(tmp_path: Path, status: int, body: str) -> None:
    async with cluster(tmp_path) as server:
        add_pod(server, "a")
        server.fault("answer", code=status, body=body)
        async with harness_of(joined(server)) as harness:
            await harness.wait(lambda: len(server.requests) >= 3, "tries")
            assert harness.sent(SourcePods) == []
            server.faults.clear()
            assert names(await harness.wait_sent(SourcePods, to="pod_config")) == ["a"]


async def test_no_object_is_gone_while_the_server_is_away_and_its_return_is_noticed_soon(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a")
        await watching(harness, server, "pods")
        await server.stop()
        asked = await harness.deliver(ApiCall(method="GET", path="/x"))
        assert (asked.status, asked.reason) == (0, "Unreachable")
        assert harness.actor._mode == "unreachable"
        await asyncio.sleep(1.5)
        assert len(harness.sent(SourcePods, to="pod_config")) == 1
        assert harness.sent(SourcePod) == []
        before = len(server.requests_for("watch", "pods"))
        await server.start()
        await harness.wait(
            lambda: len(server.requests_for("watch", "pods")) > before, "a watch of the server that is back"
        )


async def test_an_actor_that_sends_hello_gets_everything_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_settings(server)
        add_pod(server, "a", **MOUNTED)
        async with harness_of(joined(server)) as harness:
            await harness.wait_sent(ObjectChanged)
            harness.clear()
            await harness.deliver(Hello(STATUS_MANAGER, 2))
            assert [name for name, message in harness.outbox if isinstance(message, SourcePods)] == ["status_manager"]


async def test_objects_that_a_pod_mounts_are_watched_and_changes_are_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        made = add_settings(server)
        add_pod(server, "a", **MOUNTED)
        async with harness_of(joined(server)) as harness:
            await watching(harness, server, "configmaps")
            found = json.loads((await harness.deliver(GetObject(SETTINGS))).body)
            assert (found["metadata"], found["data"]) == (made["metadata"], made["data"])
            harness.clear()
            server.patch("configmaps", "settings", {"data": {"k": "2"}}, "web")
            assert (await harness.wait_sent(ObjectChanged, to="volume_manager")).ref == SETTINGS
            assert json.loads((await harness.deliver(GetObject(SETTINGS))).body)["data"] == {"k": "2"}
            server.delete("configmaps", "settings", "web")
            await harness.wait_sent(ObjectChanged, count=2)
            assert (await harness.deliver(GetObject(SETTINGS))).reason == "NotFound"
            assert "fieldSelector=metadata.name%3Dsettings" in server.requests_for("list", "configmaps")[0].target


async def test_an_object_without_a_pod_is_no_longer_watched(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_settings(server)
        for name in ("a", "b"):
            add_pod(server, name, **MOUNTED)
        async with harness_of(joined(server)) as harness:
            await watching(harness, server, "configmaps", "pods")
            assert len(server.requests_for("watch", "configmaps")) == 1
            server.delete("pods", "a", "web", gracePeriodSeconds=0)
            await harness.wait_sent(SourcePod)
            assert harness.actor.objects.watches == 1
            server.patch("pods", "b", {"status": {"phase": "Succeeded"}}, "web", "status")
            await harness.wait_sent(SourcePod, to="pod_config", count=2)
            assert len(harness.actor.objects) == 0
            assert json.loads((await harness.deliver(GetObject(SETTINGS))).body)["data"] == {"k": "1"}


async def test_the_watch_of_an_immutable_object_ends(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_settings(server, immutable=True)
        add_pod(server, "a", **MOUNTED)
        async with harness_of(joined(server)) as harness:
            await harness.wait_sent(ObjectChanged)
            await harness.wait(lambda: harness.actor.objects.watches == 0, "the end of the watch")
            assert (await harness.deliver(GetObject(SETTINGS))).body
            assert len(server.requests_for("list", "configmaps")) == 1


async def test_a_missing_object_is_reported_as_missing_and_again_when_it_appears(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a", **MOUNTED)
        await watching(harness, server, "configmaps")
        state = await harness.deliver(GetObject(SETTINGS))
        assert (state.reason, state.message) == ("NotFound", 'configmaps "settings" not found')
        add_settings(server)
        await harness.wait_sent(ObjectChanged, count=2)
        assert (await harness.deliver(GetObject(SETTINGS))).body


async def test_an_object_that_is_forbidden_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_settings(server)
        refusal = '{"reason":"Forbidden","message":"no relationship found"}'
        server.fault("answer", resource="configmaps", code=403, body=refusal)
        add_pod(server, "a", **MOUNTED)
        async with harness_of(joined(server)) as harness:
            await harness.wait_sent(SourcePods)
            soon = await harness.deliver(GetObject(SETTINGS, wait=0.2))
            assert (soon.reason, soon.message) == ("Forbidden", "no relationship found")
            waiting = harness.post(GetObject(SETTINGS, wait=5))
            await asyncio.sleep(0.1)
            server.faults.clear()
            assert (await waiting).body


@pytest.mark.parametrize(("strategy", "reads"), [("Get", 2), ("Cache", 1)])
async def test_without_watches_objects_are_requested(tmp_path: Path, strategy: str, reads: int) -> None:
    async with cluster(tmp_path) as server:
        add_settings(server)
        add_pod(server, "a", **MOUNTED)
        config = {"configMapAndSecretChangeDetectionStrategy": strategy}
        async with harness_of(joined(server, **config)) as harness:
            await harness.wait_sent(SourcePods)
            for _ in range(2):
                assert (await harness.deliver(GetObject(SETTINGS))).body
            assert len(server.requests_for("get", "configmaps")) == reads
            assert server.requests_for("watch", "configmaps") == []
            assert harness.sent(ObjectChanged, to="volume_manager")


async def test_services_are_of_the_namespace_and_trimmed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        server.create("namespaces", {"metadata": {"name": "other"}})
        for namespace, name in (("web", "a"), ("other", "b"), ("default", "kubernetes")):
            metadata = {"name": name, "annotations": {"long": "x" * 100}}
            spec = {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}
            server.create("services", {"metadata": metadata, "spec": spec}, namespace)
        async with harness_of(joined(server)) as harness:
            await harness.wait(lambda: harness.actor.services.synced.is_set(), "services")
            told = await harness.deliver(GetServices("web"))
            assert isinstance(told, Services)
            assert told.synced
            found = json.loads(told.services[0])
            assert found["metadata"] == {"name": "a", "namespace": "web"}
            port = {"port": 80, "protocol": "TCP"}
            assert found["spec"] == {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [port]}
            assert len(told.services) == 1
            assert json.loads(told.master)["metadata"]["name"] == "kubernetes"


async def test_csi_drivers_are_watched_after_the_first_request(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_node(server)
        server.create("csidrivers", {"metadata": {"name": "d.test"}, "spec": {"attachRequired": False}})
        async with harness_of(joined(server)) as harness:
            await harness.deliver(GetObject(ObjectRef("Node", "n1")))
            assert server.requests_for("", "csidrivers") == []
            found = await harness.deliver(GetObject(ObjectRef("CSIDriver", "d.test")))
            assert json.loads(found.body)["spec"]["attachRequired"] is False
            assert (await harness.deliver(GetObject(ObjectRef("CSIDriver", "other")))).reason == "NotFound"


async def test_node_and_runtime_class_are_answered(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_node(server, **{"node.alpha.kubernetes.io/ttl": "15"})
        server.create("runtimeclasses", {"metadata": {"name": "gvisor"}, "handler": "runsc"})
        async with harness_of(joined(server)) as harness:
            node = await harness.deliver(GetObject(ObjectRef("Node", "n1")))
            assert json.loads(node.body)["metadata"]["name"] == "n1"
            assert harness.actor.objects.ttl == 15
            assert server.requests_for("", "runtimeclasses") == []
            found = await harness.deliver(GetObject(ObjectRef("RuntimeClass", "gvisor")))
            assert json.loads(found.body)["handler"] == "runsc"
            assert (await harness.deliver(GetObject(ObjectRef("RuntimeClass", "kata")))).reason == "NotFound"


async def test_a_call_on_behalf_of_another_actor_is_always_answered(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        server.fault("answer", path="/x", code=200, body="[1]")
        server.fault("status", path="/busy", code=429, retry_after=3)
        assert await harness.deliver(ApiCall(method="PATCH", path="/x", body=b"[0]")) == ApiAnswer(
            status=200, body=b"[1]"
        )
        assert [one.body for one in server.requests if one.target == "/x"] == [b"[0]"]
        busy = await harness.deliver(ApiCall(method="GET", path="/busy"))
        text = "as ordered by the test"
        assert busy == ApiAnswer(status=429, reason="TooManyRequests", message=text, retry_after=3)
        names = {sample.name for sample in harness.actor.metrics.snapshot("x", 1).samples}
        assert {"rest_client_requests_total", "rest_client_request_duration_seconds"} <= names


async def test_a_new_certificate_is_used_from_the_next_request_on(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a")
        add_node(server)
        await watching(harness, server, "pods", "nodes", "services")
        path = Path(harness.actor.context.kubeconfig)
        path.write_text(Path(server.kubeconfig("second")).read_text())
        server.requests.clear()
        await harness.deliver(CredentialsChanged(str(path), 2))
        await harness.deliver(ApiCall(method="GET", path="/x"))
        await harness.wait(lambda: len(server.requests) >= 4, "everything on new connections")
        assert {one.user for one in server.requests} == {"second"}
        assert server.requests_for("list", "pods") == []


async def test_a_kubeconfig_that_appears_later_is_used(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        agent = joined(server)
        path = Path(agent.kubeconfig)
        content = path.read_bytes()
        path.unlink()
        async with harness_of(agent) as harness:
            actor = harness.actor
            assert (actor._mode, "kubeconfig" in actor._error) == ("joining", True)
            asked = await harness.deliver(ApiCall(method="GET", path="/x"))
            assert (asked.status, asked.reason) == (0, "NoCredentials")
            path.write_bytes(content)
            await harness.advance(10)
            await harness.wait_sent(SourcePods)


async def test_an_unreadable_pod_is_passed_on_and_delays_no_other(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        bad = {"metadata": {"name": "bad", "namespace": "web"}, "spec": {"containers": "none", "nodeName": "n1"}}
        server.store.put(("pods", "web", "bad"), bad)
        add_pod(server, "a")
        async with harness_of(joined(server)) as harness:
            told = await harness.wait_sent(SourcePods)
            assert names(told) == ["a", "bad"]
            assert json.loads(told.pods[1])["spec"]["containers"] == "none"


async def test_a_standalone_client_answers_every_request_with_standalone() -> None:
    async with harness_of(Agent()) as harness:
        assert (await harness.deliver(ApiCall(method="GET", path="/x"))).reason == "Standalone"
        assert (await harness.deliver(GetObject(SETTINGS))).reason == "Standalone"
        assert not (await harness.deliver(GetServices("web"))).synced


# -- the config map that the node is assigned -------------------------------------------------------------------------
ASSIGNED = "troupelet.io/kubelet-config"


def add_node(server: ApiServer, **annotations: str) -> None:
    server.create("nodes", {"metadata": {"name": "n1", "annotations": annotations}})


def annotate(server: ApiServer, value: str | None) -> None:
    server.patch("nodes", "n1", {"metadata": {"annotations": {ASSIGNED: value}}}, "")


def grant_config_maps(server: ApiServer) -> None:
    """The Node authorizer lets a node read what its pods name, and no more."""
    server.handling.authorizer.grants.append(Grant(NODE, ("get", "list", "watch"), ("configmaps",)))


async def test_the_config_map_that_the_node_is_assigned_is_followed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        grant_config_maps(server)
        add_node(server, **{ASSIGNED: "web/settings"})
        data = {"kubelet": "maxPods: 7\n", "other": "maxPods: 8\n"}
        made = server.create("configmaps", {"metadata": {"name": "settings"}, "data": data}, "web")
        async with harness_of(joined(server, featureGates={"DynamicKubeletConfig": True})) as harness:
            told = await harness.wait_sent(ConfigMapAssigned, to="config_controller")
            assert (told.namespace, told.name, told.uid, told.data) == (
                "web", "settings", made["metadata"]["uid"], b"maxPods: 7\n",
            )  # fmt: skip
            await watching(harness, server, "configmaps", "nodes")
            server.patch("configmaps", "settings", {"data": {"kubelet": "maxPods: 9\n", "other": "o"}}, "web")
            assert (await harness.wait_sent(ConfigMapAssigned, count=2)).data == b"maxPods: 9\n"
            annotate(server, "web/settings/other")
            assert (await harness.wait_sent(ConfigMapAssigned, count=3)).data == b"o"
            server.delete("configmaps", "settings", "web")
            annotate(server, "nonsense")
            annotate(server, None)
            assert await harness.wait_sent(ConfigMapAssigned, count=4) == ConfigMapAssigned()
            assert len(harness.actor.objects) == 0


@pytest.mark.parametrize("strategy", ["Watch", "Cache"])
@pytest.mark.parametrize("refused", [True, False])
async def test_an_assigned_config_map_that_cannot_be_read_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, strategy: str, refused: bool
) -> None:
    config = {"featureGates": {"DynamicKubeletConfig": True}, "configMapAndSecretChangeDetectionStrategy": strategy}
    said = "ConfigMap web/settings: " + ("Forbidden" if refused else "NotFound")
    async with cluster(tmp_path) as server:
        add_node(server, **{ASSIGNED: "web/settings"})
        if not refused:
            grant_config_maps(server)
        async with harness_of(joined(server, **config)) as harness:

            def lines() -> list[str]:
                return [line for line in caplog.messages if said in line]

            for _ in range(60):
                if lines():
                    break
                await harness.advance(UPKEEP_SECONDS * 1.2)
                await asyncio.sleep(0.02)
            assert len(lines()) == 1, caplog.messages
            for _ in range(3):
                await harness.advance(100)
                await asyncio.sleep(0.02)
            assert len(lines()) == 1, caplog.messages
            assert harness.sent(ConfigMapAssigned) == []


async def test_without_the_gate_no_config_map_is_followed(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server:
        add_node(server, **{ASSIGNED: "web/settings"})
        async with harness_of(joined(server)) as harness:
            assert (await harness.deliver(GetObject(ObjectRef("Node", "n1")))).body
            assert len(harness.actor.objects) == 0


async def test_requests_are_spans_at_the_collector_if_tracing_is_configured(tmp_path: Path) -> None:
    with Collector() as collector:
        tracing = Tracing(endpoint=collector.endpoint, samplingRatePerMillion=1_000_000)
        async with cluster(tmp_path) as server, harness_of(joined(server, tracing=tracing)) as harness:
            add_pod(server, "a")
            await harness.wait_sent(SourcePods, to="pod_config")
            await harness.advance(2 * EVERY_SECONDS)
            await harness.wait(lambda: bool(collector.named("HTTP GET")), "a span", timeout=30)
    span = next(one for one in collector.named("HTTP GET") if one.attributes["url.path"] == "/api/v1/pods")
    assert (span.kind, span.scope, span.attributes["http.response.status_code"]) == (
        "client", "api_clients/kube_client", 200,
    )  # fmt: skip


async def test_pods_that_the_node_must_not_list_are_reported_until_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(refused_collections, "PATIENCE_SECONDS", 0.0)
    async with cluster(tmp_path) as server:
        server.fault("answer", resource="pods", code=403, body='{"reason":"Forbidden","message":"not this node"}')
        async with harness_of(joined(server)) as harness:

            def states() -> list[str]:
                told = harness.sent(ServiceState, to=FORK_SERVER)
                return [one.text for one in told if one.service == "API server, pods"]

            await harness.wait(lambda: states() != [], "it is told")
            assert states() == ["cannot be listed or watched: Forbidden: not this node"]
            assert "pods cannot be listed or watched: Forbidden: not this node" in caplog.text
            server.faults.clear()
            await harness.wait(lambda: states()[1:] == [""], "it is taken back")
