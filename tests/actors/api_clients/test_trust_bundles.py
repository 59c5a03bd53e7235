"""kube_client and the ClusterTrustBundles of the API server of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client import trust_bundles
from actors.api_clients.kube_client.actor import KubeClient
from actors.api_clients.kube_client.messages import GetTrustBundles, TrustBundlesChanged
from supervision.testing.harness import Harness
from tests.actors.api_clients.test_kube_client import add_pod, cluster, harness_of, joined, watching
from tests.support.apiserver import Answer, ApiServer, Request
from tests.support.apiserver.authorizer import NODE_RULES
from tests.support.apiserver.objects import Obj
from tests.support.certificates import Authority

BUNDLES = "clustertrustbundles"
ON = {"featureGates": {"ClusterTrustBundle": True, "ClusterTrustBundleProjection": True}}
SOURCES = [{"clusterTrustBundle": {"name": "roots", "path": "ca.crt"}}]
USES: dict[str, Any] = {"volumes": [{"name": "v", "projected": {"sources": SOURCES}}]}


def add_bundle(server: ApiServer, folder: Path, name: str, signer: str = "") -> Obj:
    pem = Authority(folder / name.replace(":", "-")).path.read_text()
    spec = {"trustBundle": pem, **({"signerName": signer} if signer else {})}
    return server.create(BUNDLES, {"metadata": {"name": name}, "spec": spec})


async def followed(harness: Harness[KubeClient], server: ApiServer) -> None:
    """Until the bundles are watched."""
    watched = f"{BUNDLES}.certificates.k8s.io"
    await harness.wait(lambda: server.store.is_watched(watched), "a watch of the bundles")


async def test_bundles_are_watched_once_a_pod_uses_one_and_changes_are_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        add_bundle(server, tmp_path, "roots")
        add_pod(server, "plain")
        await watching(harness, server, "pods")
        assert server.requests_for("", BUNDLES) == []
        add_pod(server, "a", **USES)
        await followed(harness, server)
        await harness.wait_sent(TrustBundlesChanged, to="volume_manager")
        made = add_bundle(server, tmp_path, "a.b:c:d", "a.b/c")
        await harness.wait_sent(TrustBundlesChanged, to="volume_manager", count=2)
        found = await harness.deliver(GetTrustBundles(signer="a.b/c"))
        assert [json.loads(body)["spec"] for body in found.bodies] == [made["spec"]]
        assert (await harness.deliver(GetTrustBundles(name="other"))).bodies == []
        assert len(server.requests_for("list", BUNDLES)) == 1


async def test_without_the_gate_a_pod_that_names_one_starts_no_watch(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a", **USES)
        await watching(harness, server, "pods")
        assert server.requests_for("", BUNDLES) == []


async def test_a_question_finds_the_version_that_the_server_has(tmp_path: Path) -> None:
    async def only_alpha(request: Request) -> Answer | None:
        group, _, rest = request.path.removeprefix("/apis/certificates.k8s.io/").partition("/")
        if group == "v1alpha1" and not rest:
            return Answer(200, b'{"resources":[{"name":"clustertrustbundles"}]}')
        if group == "v1alpha1" and "watch" not in request.query:
            items = b'[{"metadata":{"name":"roots"},"spec":{}}]'
            return Answer(200, b'{"metadata":{"resourceVersion":"1"},"items":' + items + b"}")
        return Answer(404, b"{}") if group in ("v1alpha1", "v1beta1") else None

    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        server.faults.script = only_alpha
        found = await harness.deliver(GetTrustBundles(name="roots"))
        assert [json.loads(body)["metadata"]["name"] for body in found.bodies] == ["roots"]


async def test_bundles_are_requested_again_from_a_server_that_lacked_their_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust_bundles, "AGAIN_SECONDS", 0.05)
    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        add_bundle(server, tmp_path, "roots")
        server.fault("status", path="/apis/certificates.k8s.io", code=404)
        found = await harness.deliver(GetTrustBundles(name="roots"))
        assert found.error.startswith("ClusterTrustBundle projection is not supported in static kubelet mode")
        server.faults.clear()
        await followed(harness, server)
        assert (await harness.deliver(GetTrustBundles(name="roots"))).bodies


async def test_bundles_that_the_node_may_not_list_are_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(NODE_RULES, ("certificates.k8s.io", BUNDLES))
    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        found = await harness.deliver(GetTrustBundles(name="roots", wait=0.5))
        assert found.error.startswith("ClusterTrustBundle informer has not yet synced: ")
        assert "forbidden" in found.error
