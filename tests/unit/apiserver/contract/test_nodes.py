"""What a node may do (the Node authorizer), and what of that is refused (the admission plugin NodeRestriction)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.raw_api import MERGE, STRATEGIC, Answered, Obj, RawApi
from tests.unit.apiserver.contract.conftest import NODE, Namespace, pod

NODES, LEASES = "/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
MIRROR = "kubernetes.io/config.mirror"


@pytest.fixture
def registered(api: RawApi, node: RawApi) -> Iterator[Obj]:
    """The node's object, which the node has made."""
    api("DELETE", f"{NODES}/{NODE}")
    yield node.make(NODES, {"metadata": {"name": NODE}})
    api("DELETE", f"{NODES}/{NODE}")


def refused(found: Answered) -> str:
    code, reason, text = found.failure
    assert (code, reason) == (403, "Forbidden"), found.failure
    return text


# -- its own object ---------------------------------------------------------------------------------------------------
def test_a_node_registers_only_itself(node: RawApi, registered: Obj) -> None:
    taints = registered["spec"]["taints"]
    assert [(one["key"], one["effect"]) for one in taints] == [("node.kubernetes.io/not-ready", "NoSchedule")]
    text = refused(node("POST", NODES, {"metadata": {"name": "contract-other"}}))
    assert f'node "{NODE}" is not allowed to modify node "contract-other"' in text
    assert node("POST", NODES, {"metadata": {"name": NODE}}).failure[:2] == (409, "AlreadyExists")


def test_a_node_sees_its_own_object_only(node: RawApi, registered: Obj) -> None:
    assert node.get(f"{NODES}/{NODE}")["metadata"]["uid"] == registered["metadata"]["uid"]
    assert node.get(NODES, fieldSelector=f"metadata.name={NODE}")["items"]
    refused(node("GET", NODES))
    refused(node("GET", f"{NODES}/contract-other"))


def test_a_node_writes_its_status_and_neither_its_taints_nor_labels_of_others(node: RawApi, registered: Obj) -> None:
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert node.patch(f"{NODES}/{NODE}/status", ready)["status"]["conditions"][0]["type"] == "Ready"
    own = {"metadata": {"labels": {"kubernetes.io/hostname": NODE, "example.com/mine": "yes"}}}
    assert node.patch(f"{NODES}/{NODE}", own)["metadata"]["labels"]["example.com/mine"] == "yes"
    label = {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b"}}}
    assert "is not allowed to modify labels: node-restriction.kubernetes.io/a" in refused(
        node("PATCH", f"{NODES}/{NODE}", label, form=STRATEGIC)
    )
    taints = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    text = refused(node("PATCH", f"{NODES}/{NODE}", taints, form=MERGE))
    assert f'node "{NODE}" is not allowed to modify taints' in text


def test_a_node_does_not_delete_itself(node: RawApi, registered: Obj) -> None:
    refused(node("DELETE", f"{NODES}/{NODE}"))


def test_a_node_keeps_its_own_lease_only(api: RawApi, node: RawApi) -> None:
    api("DELETE", f"{LEASES}/{NODE}")
    made = node.make(LEASES, {"metadata": {"name": NODE}, "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40}})
    renewed = {**made, "spec": {**made["spec"], "renewTime": "2026-01-01T00:00:00.000000Z"}}
    assert node("PUT", f"{LEASES}/{NODE}", renewed).code == 200
    refused(node("POST", LEASES, {"metadata": {"name": "contract-other"}, "spec": {"holderIdentity": NODE}}))
    refused(node("GET", f"{LEASES}/contract-other"))
    assert api("DELETE", f"{LEASES}/{NODE}").code == 200


# -- pods -------------------------------------------------------------------------------------------------------------
def test_a_node_sees_its_own_pods_only(space: Namespace, node: RawApi) -> None:
    space.pod("mine", nodeName=NODE)
    space.pod("other")
    assert node.get(f"{space.pods}/mine")["metadata"]["name"] == "mine"
    found = node.get("/api/v1/pods", fieldSelector=f"spec.nodeName={NODE}")["items"]
    assert "mine" in [one["metadata"]["name"] for one in found]
    refused(node("GET", f"{space.pods}/other"))
    refused(node("GET", "/api/v1/pods"))
    refused(node("GET", f"{space.pods}/none"))


def test_a_node_writes_the_status_of_its_own_pods_and_not_their_labels(space: Namespace, node: RawApi) -> None:
    space.pod("mine", nodeName=NODE)
    space.pod("other")
    running = {"status": {"phase": "Running"}}
    assert node.patch(f"{space.pods}/mine/status", running)["status"]["phase"] == "Running"
    refused(node("PATCH", f"{space.pods}/other/status", running, form=STRATEGIC))
    refused(node("PATCH", f"{space.pods}/mine", {"metadata": {"labels": {"a": "b"}}}, form=STRATEGIC))
    labels = {"metadata": {"labels": {"a": "b"}}}
    refused(node("PATCH", f"{space.pods}/mine/status", labels, form=STRATEGIC))


def test_a_node_deletes_its_own_pods_only(space: Namespace, node: RawApi) -> None:
    space.pod("mine", nodeName=NODE)
    space.pod("other")
    refused(node("DELETE", f"{space.pods}/other", {"gracePeriodSeconds": 0}))
    assert node("DELETE", f"{space.pods}/mine", {"gracePeriodSeconds": 0}).code == 200
    assert space.api("GET", f"{space.pods}/mine").code == 404


def mirror(owner: Obj, **spec: Any) -> Obj:
    made = pod("mirror", nodeName=NODE, **spec)
    reference = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": owner["metadata"]["uid"], "controller": True}
    made["metadata"] |= {"annotations": {MIRROR: "h"}, "ownerReferences": [reference]}
    return made


def test_a_node_makes_mirrors_of_static_pods_only(space: Namespace, node: RawApi, registered: Obj) -> None:
    text = refused(node("POST", space.pods, pod("plain", nodeName=NODE)))
    assert "can only create mirror pods" in text or MIRROR in text
    bare = mirror(registered)
    del bare["metadata"]["ownerReferences"]
    refused(node("POST", space.pods, bare))
    secret = [{"name": "s", "secret": {"secretName": "s"}}]
    text = refused(node("POST", space.pods, mirror(registered, volumes=secret)))
    assert text == 'pods "mirror" is forbidden: a mirror pod may not reference secrets'
    text = refused(node("POST", space.pods, mirror(registered, serviceAccountName="default")))
    assert text == 'pods "mirror" is forbidden: a mirror pod may not reference service accounts'
    maps = [{"name": "c", "configMap": {"name": "c"}}]
    text = refused(node("POST", space.pods, mirror(registered, volumes=maps)))
    assert text == f'pods "mirror" is forbidden: node "{NODE}" can not create pods that reference configmaps'
    made = node.make(space.pods, mirror(registered))
    assert made["spec"]["nodeName"] == NODE


# -- what pods name ---------------------------------------------------------------------------------------------------
def test_a_node_reads_what_its_pods_name(space: Namespace, node: RawApi) -> None:
    for name in ("named", "unnamed"):
        space.api.make(space.of("secrets"), {"metadata": {"name": name}, "stringData": {"a": "b"}})
    path = space.of("secrets")
    refused(node("GET", f"{path}/named"))
    space.pod("p", nodeName=NODE, volumes=[{"name": "v", "secret": {"secretName": "named"}}])
    assert node.get(f"{path}/named")["data"] == {"a": "Yg=="}
    assert [one["metadata"]["name"] for one in node.get(path, fieldSelector="metadata.name=named")["items"]] == [
        "named"
    ]
    refused(node("GET", f"{path}/unnamed"))
    refused(node("GET", path))


def test_a_node_asks_for_tokens_of_its_own_pods_only(space: Namespace, node: RawApi) -> None:
    mine, other = space.pod("mine", nodeName=NODE), space.pod("other", nodeName="contract-other")
    path = f"{space.of('serviceaccounts')}/default/token"

    def ask(found: Obj, **spec: Any) -> Answered:
        reference = {"kind": "Pod", "apiVersion": "v1", "name": found["metadata"]["name"],
                     "uid": found["metadata"]["uid"]}  # fmt: skip
        return node("POST", path, {"spec": {"audiences": [], "boundObjectRef": reference, **spec}})

    assert ask(mine).code == 201
    assert "bound to a pod scheduled on a different node" in refused(ask(other))
    assert "not bound to a pod" in refused(ask(mine, boundObjectRef=None))
    assert 'audience "vault" not found' in refused(ask(mine, audiences=["vault"]))


def test_a_node_is_refused_objects_of_other_nodes(node: RawApi) -> None:
    for path in ("/api/v1/namespaces", "/apis/apps/v1/deployments", "/api/v1/secrets"):
        text = refused(node("GET", path))
        assert text.startswith(f"{path.rpartition('/')[2]}")
        assert f'User "system:node:{NODE}" cannot list resource' in text
