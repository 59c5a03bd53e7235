"""kube_client and the PodCertificateRequests of this node, at the API server of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.api_clients.kube_client.certificate_requests import PATH
from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall, GetObject, ObjectChanged, ObjectRef
from actors.shared.kube.credential_sources import PodCertificateProjection
from actors.shared.kube.meta import ObjectMeta
from actors.volume_manager.pod_certificates import keys, requests
from tests.actors.api_clients.test_kube_client import add_node, add_pod, cluster, harness_of, joined, watching
from tests.support.apiserver import ApiServer
from tests.support.apiserver.objects import Obj
from tests.support.pod_signer import NAME, PodSigner

PLURAL = "podcertificaterequests"
ON = {"featureGates": {"PodCertificateRequest": True}}
SOURCES = [{"podCertificate": {"signerName": NAME, "keyType": "ED25519", "keyPath": "k"}}]
USES: dict[str, Any] = {"volumes": [{"name": "v", "projected": {"sources": SOURCES}}], "serviceAccountName": "sa"}


def request_of(server: ApiServer, pod: Obj, node: str = "n1") -> ApiCall:
    """As the volume manager makes it."""
    account, known = server.get("serviceaccounts", "sa", "web"), server.get("nodes", node, "")
    assert account is not None
    meta = ObjectMeta(name=pod["metadata"]["name"], namespace="web", uid=pod["metadata"]["uid"])
    source = PodCertificateProjection(signerName=NAME, keyType="ED25519", keyPath="k")
    wanted = requests.WantedCertificate(meta, "sa", source)
    uid = known["metadata"]["uid"] if known else ""
    identities = requests.RequestIdentities(account["metadata"]["uid"], node, uid)
    body = requests.body(wanted, identities, keys.make("ED25519")["proof"])
    return ApiCall(method="POST", path=requests.collection_path("web"), body=body)


async def test_requests_of_this_node_are_watched_and_their_changes_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        add_node(server)
        server.create("serviceaccounts", {"metadata": {"name": "sa"}}, "web")
        add_pod(server, "plain")
        await watching(harness, server, "pods")
        assert server.requests_for("", PLURAL) == []
        pod = add_pod(server, "a", **USES)
        watched = f"{PLURAL}.certificates.k8s.io"
        await harness.wait(lambda: server.store.is_watched(watched), "a watch of the requests")
        made = await harness.deliver(request_of(server, pod))
        assert isinstance(made, ApiAnswer)
        assert made.status == 201, made.message
        name = json.loads(made.body)["metadata"]["name"]
        ref = ObjectRef("PodCertificateRequest", name, "web")
        assert name.startswith("req-")
        assert (await harness.wait_sent(ObjectChanged, to="volume_manager")).ref == ref
        status = PodSigner().issued(json.loads(made.body))
        server.patch(PLURAL, name, {"status": status}, "web", "status")
        await harness.wait_sent(ObjectChanged, to="volume_manager", count=2)
        found = await harness.deliver(GetObject(ref))
        assert json.loads(found.body) == {"status": status}, "the rest is not kept"
        server.delete(PLURAL, name, "web")
        await harness.wait_sent(ObjectChanged, to="volume_manager", count=3)
        assert (await harness.deliver(GetObject(ref))).reason == "NotFound"
        listed = [one.target for one in server.requests_for("list", PLURAL)]
        assert listed == [f"{PATH}?fieldSelector=spec.nodeName%3Dn1"]


async def test_a_request_for_a_pod_of_another_node_is_refused(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server, **ON)) as harness:
        add_node(server)
        server.create("serviceaccounts", {"metadata": {"name": "sa"}}, "web")
        elsewhere = add_pod(server, "b", **USES, nodeName="n2")
        for node, code in (("n1", 403), ("n2", 403)):
            assert (await harness.deliver(request_of(server, elsewhere, node))).status == code


async def test_without_the_gate_they_are_not_watched(tmp_path: Path) -> None:
    async with cluster(tmp_path) as server, harness_of(joined(server)) as harness:
        add_pod(server, "a", **USES)
        await watching(harness, server, "pods")
        assert server.requests_for("", PLURAL) == []
