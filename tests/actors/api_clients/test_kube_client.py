"""The client of everybody else, against a real TLS server whose answers are scripted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.actor import UPKEEP_SECONDS, KubeClient
from actors.api_clients.messages import (
    ApiAnswer,
    ApiCall,
    CredentialsChanged,
    GetObject,
    GetServices,
    ObjectRef,
    ObjectState,
    Services,
)
from actors.config_controller.messages import ConfigMapAssigned
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import Tracing
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.tracing.exporting import EVERY_SECONDS
from actors.status_manager.messages import STATUS_MANAGER
from supervision.harness import Harness
from supervision.protocol import Hello
from tests.support.collector import Collector
from tests.support.fake_cluster import FakeCluster
from tests.support.scripted_server import ScriptedServer

SETTINGS = ObjectRef("ConfigMap", "settings", "web")


def pod(name: str, version: int = 1, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "web", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}, "status": {}}


def config_map(value: str, version: int = 1, **more: Any) -> dict[str, Any]:
    meta = {"name": "settings", "namespace": "web", "uid": "cm", "resourceVersion": str(version)}
    return {"metadata": meta, "data": {"k": value}, **more}


MOUNTED: dict[str, Any] = {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}


PODS, MAPS = "/api/v1/pods", "/api/v1/namespaces/web/configmaps"


def joined(tmp_path: Path, server: ScriptedServer, **config: Any) -> Agent:
    cert, key = server.authority.client("system:node:n1", "system:nodes")
    write_kubeconfig(tmp_path / "kubeconfig", server, cert, key)
    return Agent(
        standalone=False, node_name="n1", kubeconfig=str(tmp_path / "kubeconfig"), config=KubeletConfiguration(**config)
    )


def write_kubeconfig(path: Path, server: ScriptedServer, cert: str, key: str) -> None:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server.url, "certificate-authority": "ca/ca.crt"}}],
        "users": [{"name": "u", "user": {"client-certificate": cert, "client-key": key}}],
    }
    path.write_text(json.dumps(document))


@asynccontextmanager
async def harness_of(agent: Agent) -> AsyncIterator[Harness]:
    async with Harness(KubeClient, name="api_clients/kube_client", context=agent) as harness:
        yield harness
    if harness.actor.client is not None:
        await harness.actor.client.close()


async def test_the_pods_of_the_node_are_told_first_as_a_list_and_then_one_by_one(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        for receiver in ("pod_config", "status_manager"):
            told = await harness.wait_sent(SourcePods, to=receiver)
            assert [json.loads(each) for each in told.pods] == [pod("a")]
        await harness.wait(lambda: bool(cluster.watches.get(PODS)), "a watch")
        cluster.send(PODS, "ADDED", pod("b", 7))
        cluster.send(PODS, "BOOKMARK", {"metadata": {"resourceVersion": "8"}})
        cluster.send(PODS, "DELETED", pod("b", 9))
        added = await harness.wait_sent(SourcePod, to="pod_config")
        gone = await harness.wait_sent(SourcePod, to="pod_config", count=2)
        assert (added.uid, json.loads(added.pod)) == ("uid-b", pod("b", 7))
        assert (gone.uid, gone.pod) == ("uid-b", b"")
        assert "fieldSelector=spec.nodeName%3Dn1" in next(each.path for each in server.asked if PODS in each.path)
        assert (harness.actor._mode, harness.actor._error) == ("joined", "")


async def test_a_watch_that_is_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(PODS)), "a watch")
        cluster.send(PODS, "BOOKMARK", {"metadata": {"resourceVersion": "77"}})
        cluster.reset(PODS)
        await harness.wait(lambda: any("resourceVersion=77" in each.path for each in server.asked), "a second watch")
        assert cluster.lists.count(PODS) == 1
        assert len(harness.sent(SourcePods, to="pod_config")) == 1


async def test_a_version_that_is_too_old_makes_it_list_again(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(PODS)), "a watch")
        cluster.objects[PODS] = [pod("c")]
        expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        for queue in cluster.watches[PODS]:
            queue.put_nowait(json.dumps({"type": "ERROR", "object": expired}).encode() + b"\n")
        told = await harness.wait_sent(SourcePods, to="pod_config", count=2)
        assert [json.loads(each) for each in told.pods] == [pod("c")]


@pytest.mark.parametrize(
    ("status", "body"), [(500, b"oops"), (429, b"{}"), (401, b"{}"), (200, b'{"items":'), (403, b"")]
)
async def test_a_server_that_fails_at_first_costs_nothing_but_time(tmp_path: Path, status: int, body: bytes) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    cluster.refuse["/"] = (status, body)
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: len(server.asked) >= 3, "tries")
        assert harness.sent(SourcePods) == []
        cluster.refuse.clear()
        assert len((await harness.wait_sent(SourcePods, to="pod_config")).pods) == 1


async def test_with_the_server_away_nothing_is_said_to_be_gone_and_its_return_is_noticed_soon(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    server = ScriptedServer(tmp_path, cluster)
    await server.start()
    async with harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(PODS)), "a watch")
        await server.stop()
        asked = await harness.deliver(ApiCall(method="GET", path="/x"))
        assert (asked.status, asked.reason) == (0, "Unreachable")
        assert harness.actor._mode == "away"
        await asyncio.sleep(1.5)
        assert len(harness.sent(SourcePods, to="pod_config")) == 1
        assert harness.sent(SourcePod) == []
        await server.start()
        await harness.wait(lambda: bool(cluster.watches.get(PODS)), "a watch of the server that is back")
        await server.stop()


async def test_who_says_hello_is_told_all_again(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    cluster.objects[MAPS] = [config_map("1")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait_sent(ObjectState)
        harness.clear()
        await harness.deliver(Hello(STATUS_MANAGER, 2))
        assert [name for name, message in harness.outbox if isinstance(message, SourcePods)] == ["status_manager"]


async def test_what_a_pod_mounts_is_watched_and_changes_are_told(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    cluster.objects[MAPS] = [config_map("1")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(MAPS)), "a watch")
        assert json.loads((await harness.deliver(GetObject(SETTINGS))).body) == config_map("1")
        harness.clear()
        cluster.send(MAPS, "MODIFIED", config_map("2", 6))
        told = await harness.wait_sent(ObjectState, to="volume_manager")
        assert json.loads(told.body)["data"] == {"k": "2"}
        cluster.send(MAPS, "DELETED", config_map("2", 7))
        assert (await harness.wait_sent(ObjectState, count=2)).reason == "NotFound"
        asked = next(each.path for each in server.asked if MAPS in each.path)
        assert "fieldSelector=metadata.name%3Dsettings" in asked


async def test_what_no_pod_refers_to_any_more_is_not_watched_any_more(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED), pod("b", **MOUNTED)]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(MAPS)) and bool(cluster.watches.get(PODS)), "watches")
        assert len(cluster.watches[MAPS]) == 1
        cluster.send(PODS, "DELETED", pod("a", 9))
        await harness.wait_sent(SourcePod)
        assert harness.actor.objects.watches == 1
        ended = pod("b", 10, **MOUNTED) | {"status": {"phase": "Succeeded"}}
        cluster.send(PODS, "MODIFIED", ended)
        await harness.wait_sent(SourcePod, to="pod_config", count=2)
        assert len(harness.actor.objects) == 0
        cluster.objects[MAPS] = [config_map("1")]
        assert json.loads((await harness.deliver(GetObject(SETTINGS))).body) == config_map("1")


async def test_an_immutable_object_is_watched_no_longer(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    cluster.objects[MAPS] = [config_map("1", immutable=True)]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait_sent(ObjectState)
        await harness.wait(lambda: harness.actor.objects.watches == 0, "the end of the watch")
        assert (await harness.deliver(GetObject(SETTINGS))).body
        assert cluster.lists.count(MAPS) == 1


async def test_a_missing_object_is_said_to_be_missing_and_told_when_it_comes(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: bool(cluster.watches.get(MAPS)), "a watch")
        state = await harness.deliver(GetObject(SETTINGS))
        assert (state.reason, state.message) == ("NotFound", 'configmaps "settings" not found')
        cluster.send(MAPS, "ADDED", config_map("1", 6))
        assert (await harness.wait_sent(ObjectState, count=2)).body


async def test_an_object_that_is_forbidden_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    cluster.objects[MAPS] = [config_map("1")]
    cluster.refuse[MAPS] = (403, b'{"reason":"Forbidden","message":"no relationship found"}')
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait_sent(SourcePods)
        soon = await harness.deliver(GetObject(SETTINGS, wait=0.2))
        assert (soon.reason, soon.message) == ("Forbidden", "no relationship found")
        waiting = harness.post(GetObject(SETTINGS, wait=5))
        await asyncio.sleep(0.1)
        cluster.refuse.clear()
        assert (await waiting).body


@pytest.mark.parametrize(("strategy", "reads"), [("Get", 2), ("Cache", 1)])
async def test_without_watches_objects_are_asked_for(tmp_path: Path, strategy: str, reads: int) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a", **MOUNTED)]
    cluster.objects[MAPS] = [config_map("1")]
    async with (
        ScriptedServer(tmp_path, cluster) as server,
        harness_of(joined(tmp_path, server, configMapAndSecretChangeDetectionStrategy=strategy)) as harness,
    ):
        await harness.wait_sent(SourcePods)
        for _ in range(2):
            assert (await harness.deliver(GetObject(SETTINGS))).body
        assert cluster.lists.count(f"{MAPS}/settings") == reads
        assert MAPS not in cluster.watches
        assert harness.sent(ObjectState, to="volume_manager")


async def test_services_are_of_the_namespace_and_trimmed(tmp_path: Path) -> None:
    cluster = FakeCluster()

    def service(namespace: str, name: str) -> dict[str, Any]:
        meta = {"name": name, "namespace": namespace, "annotations": {"long": "x" * 100}}
        return {"metadata": meta, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "protocol": "TCP"}]}}

    cluster.objects["/api/v1/services"] = [service("web", "a"), service("other", "b"), service("default", "kubernetes")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        await harness.wait(lambda: harness.actor.services.synced.is_set(), "services")
        told = await harness.deliver(GetServices("web"))
        assert isinstance(told, Services)
        assert told.synced
        found = json.loads(told.services[0])
        assert found["metadata"] == {"name": "a", "namespace": "web"}
        assert found["spec"] == {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "protocol": "TCP"}]}
        assert len(told.services) == 1
        assert json.loads(told.master)["metadata"]["name"] == "kubernetes"


async def test_node_and_runtime_class_are_given(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects["/api/v1/nodes"] = [
        {"metadata": {"name": "n1", "annotations": {"node.alpha.kubernetes.io/ttl": "15"}}}
    ]
    cluster.objects["/apis/node.k8s.io/v1/runtimeclasses"] = [{"metadata": {"name": "gvisor"}, "handler": "runsc"}]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        node = await harness.deliver(GetObject(ObjectRef("Node", "n1")))
        assert json.loads(node.body)["metadata"]["name"] == "n1"
        assert harness.actor.objects.ttl == 15
        assert "/apis/node.k8s.io/v1/runtimeclasses" not in cluster.lists
        found = await harness.deliver(GetObject(ObjectRef("RuntimeClass", "gvisor")))
        assert json.loads(found.body)["handler"] == "runsc"
        assert (await harness.deliver(GetObject(ObjectRef("RuntimeClass", "kata")))).reason == "NotFound"


async def test_a_call_for_somebody_else_is_answered_whatever_comes_of_it(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.refuse["/busy"] = (429, b'{"reason":"TooManyRequests","message":"later","details":{"retryAfterSeconds":3}}')
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        assert await harness.deliver(ApiCall(method="PATCH", path="/x", body=b"[1]")) == ApiAnswer(
            status=200, body=b"[1]"
        )
        busy = await harness.deliver(ApiCall(method="GET", path="/busy"))
        assert busy == ApiAnswer(status=429, reason="TooManyRequests", message="later", retry_after=3)
        names = {sample.name for sample in harness.actor.metrics.snapshot("x", 1).samples}
        assert {"rest_client_requests_total", "rest_client_request_duration_seconds"} <= names


async def test_a_new_certificate_is_used_from_the_next_request_on(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    async with ScriptedServer(tmp_path, cluster) as server:
        agent = joined(tmp_path, server)
        async with harness_of(agent) as harness:
            watched = [PODS, "/api/v1/nodes", "/api/v1/services"]
            await harness.wait(lambda: all(cluster.watches.get(path) for path in watched), "watches")
            write_kubeconfig(Path(agent.kubeconfig), server, *server.authority.client("system:node:new"))
            cluster.users.clear()
            await harness.deliver(CredentialsChanged(agent.kubeconfig, 2))
            await harness.deliver(ApiCall(method="GET", path="/x"))
            await harness.wait(lambda: len(cluster.users) >= 4, "everything on new connections")
            assert set(cluster.users) == {"system:node:new"}
            assert cluster.lists.count(PODS) == 1


async def test_a_kubeconfig_that_appears_later_is_used(tmp_path: Path) -> None:
    cluster = FakeCluster()
    async with ScriptedServer(tmp_path, cluster) as server:
        agent = joined(tmp_path, server)
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


async def test_a_pod_that_cannot_be_read_is_passed_on_and_holds_up_nobody(tmp_path: Path) -> None:
    cluster = FakeCluster()
    poison = pod("bad") | {"spec": {"containers": "none"}}
    cluster.objects[PODS] = [poison, pod("a")]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        told = await harness.wait_sent(SourcePods)
        assert [json.loads(each) for each in told.pods] == [poison, pod("a")]


async def test_standalone_everything_is_answered_with_that() -> None:
    async with harness_of(Agent()) as harness:
        assert (await harness.deliver(ApiCall(method="GET", path="/x"))).reason == "Standalone"
        assert (await harness.deliver(GetObject(SETTINGS))).reason == "Standalone"
        assert not (await harness.deliver(GetServices("web"))).synced


def node(version: int, **annotations: str) -> dict[str, Any]:
    named = {name.replace("_", "/"): value for name, value in annotations.items()}
    return {"metadata": {"name": "n1", "resourceVersion": str(version), "annotations": named}}


async def test_the_config_map_that_the_node_is_assigned_is_followed(tmp_path: Path) -> None:
    cluster, nodes = FakeCluster(), "/api/v1/nodes"
    annotation = "troupelet.io/kubelet-config"
    cluster.objects[nodes] = [node(1, **{annotation: "web/settings"})]
    cluster.objects[MAPS] = [config_map("x") | {"data": {"kubelet": "maxPods: 7\n", "other": "maxPods: 8\n"}}]
    gates = {"DynamicKubeletConfig": True}
    async with (
        ScriptedServer(tmp_path, cluster) as server,
        harness_of(joined(tmp_path, server, featureGates=gates)) as harness,
    ):
        told = await harness.wait_sent(ConfigMapAssigned, to="config_controller")
        assert (told.namespace, told.name, told.uid, told.data) == ("web", "settings", "cm", b"maxPods: 7\n")
        await harness.wait(lambda: bool(cluster.watches.get(MAPS) and cluster.watches.get(nodes)), "watches")
        cluster.send(MAPS, "MODIFIED", config_map("x", 6) | {"data": {"kubelet": "maxPods: 9\n", "other": "o"}})
        assert (await harness.wait_sent(ConfigMapAssigned, count=2)).data == b"maxPods: 9\n"
        cluster.send(nodes, "MODIFIED", node(7, **{annotation: "web/settings/other"}))
        assert (await harness.wait_sent(ConfigMapAssigned, count=3)).data == b"o"
        cluster.send(MAPS, "DELETED", config_map("x", 8))
        cluster.send(nodes, "MODIFIED", node(9, **{annotation: "nonsense"}))
        cluster.send(nodes, "MODIFIED", node(10))
        assert await harness.wait_sent(ConfigMapAssigned, count=4) == ConfigMapAssigned()
        assert len(harness.actor.objects) == 0


@pytest.mark.parametrize("strategy", ["Watch", "Cache"])
@pytest.mark.parametrize("refused", [True, False])
async def test_an_assigned_config_map_that_cannot_be_read_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, strategy: str, refused: bool
) -> None:
    cluster = FakeCluster()
    cluster.objects["/api/v1/nodes"] = [node(1, **{"troupelet.io/kubelet-config": "web/settings"})]
    cluster.objects[MAPS] = []
    if refused:
        cluster.refuse[MAPS] = cluster.refuse[f"{MAPS}/settings"] = (
            403,
            b'{"reason":"Forbidden","message":"no rights"}',
        )
    config = {"featureGates": {"DynamicKubeletConfig": True}, "configMapAndSecretChangeDetectionStrategy": strategy}
    said = "ConfigMap web/settings: " + ("Forbidden: no rights" if refused else "NotFound")
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server, **config)) as harness:

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
    cluster = FakeCluster()
    cluster.objects["/api/v1/nodes"] = [node(1, **{"troupelet.io/kubelet-config": "web/settings"})]
    async with ScriptedServer(tmp_path, cluster) as server, harness_of(joined(tmp_path, server)) as harness:
        assert (await harness.deliver(GetObject(ObjectRef("Node", "n1")))).body
        assert len(harness.actor.objects) == 0


async def test_its_requests_are_spans_at_the_collector_where_tracing_is_configured(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.objects[PODS] = [pod("a")]
    with Collector() as collector:
        tracing = Tracing(endpoint=collector.endpoint, samplingRatePerMillion=1_000_000)
        async with (
            ScriptedServer(tmp_path, cluster) as server,
            harness_of(joined(tmp_path, server, tracing=tracing)) as harness,
        ):
            await harness.wait_sent(SourcePods, to="pod_config")
            await harness.advance(2 * EVERY_SECONDS)
            await harness.wait(lambda: bool(collector.named("HTTP GET")), "a span", timeout=30)
    span = next(one for one in collector.named("HTTP GET") if one.attributes["url.path"] == PODS)
    assert (span.kind, span.scope, span.attributes["http.response.status_code"]) == (
        "client", "api_clients/kube_client", 200,
    )  # fmt: skip
