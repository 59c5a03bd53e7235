"""The agent registers its node and keeps it Ready; the API server and the host have the same to say of it."""

from __future__ import annotations

import os
import platform
import time

from actors.shared.api.errors import Forbidden
from tests.support.api_connection import ApiConnection
from tests.support.joined import NODE, NODES, Joined, condition, status

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"


def test_the_node_is_registered_as_the_host_is(site: Joined) -> None:
    node = site.nodes.now[f"/{NODE}"]
    labels, info = node["metadata"]["labels"], status(node)["nodeInfo"]
    assert labels["kubernetes.io/hostname"] == NODE
    assert labels["kubernetes.io/os"] == "linux"
    assert labels["test"] == "joined"
    assert info["kernelVersion"] == platform.release()
    assert info["containerRuntimeVersion"].startswith("containerd://")
    assert status(node)["capacity"]["cpu"] == str(os.cpu_count())
    assert status(node)["daemonEndpoints"]["kubeletEndpoint"]["Port"] == site.node.port
    assert {one["type"] for one in status(node)["addresses"]} >= {"InternalIP", "Hostname"}
    kinds = {one["type"]: one["status"] for one in status(node)["conditions"]}
    assert kinds == {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
    site.nodes.until(lambda: "taints" not in site.nodes.now[f"/{NODE}"]["spec"], "the not-ready taint gone", 60)


def test_images_of_the_node_are_reported(site: Joined) -> None:
    def names() -> set[str]:
        images = status(site.nodes.now[f"/{NODE}"]).get("images") or []
        return {name for image in images for name in image["names"]}

    site.nodes.until(lambda: any("busybox" in name for name in names()), "busybox among the node's images", 60)


def test_the_lease_of_the_node_is_renewed(site: Joined) -> None:
    site.nodes.until(lambda: site.api.find(LEASE), "a lease", 60)
    lease = site.api.call("GET", LEASE)
    assert lease["spec"]["holderIdentity"] == NODE
    assert lease["spec"]["leaseDurationSeconds"] == 40
    assert lease["metadata"]["ownerReferences"][0]["uid"] == site.nodes.now[f"/{NODE}"]["metadata"]["uid"]
    end = time.monotonic() + 60
    while site.api.call("GET", LEASE)["spec"]["renewTime"] == lease["spec"]["renewTime"]:
        assert time.monotonic() < end, "the lease is not renewed"
        time.sleep(0.2)


def test_labels_annotations_and_conditions_of_others_stay_on_the_node(site: Joined) -> None:
    foreign = {
        "type": "FrequentRestart",
        "status": "False",
        "reason": "Fine",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    site.api.call(
        "PATCH",
        f"{NODES}/{NODE}/status",
        {"status": {"conditions": [foreign]}},
        "application/strategic-merge-patch+json",
    )
    site.api.merge(f"{NODES}/{NODE}", {"metadata": {"annotations": {"mine": "kept"}, "labels": {"mine": "too"}}})
    site.nodes.until(
        lambda: "mine" in (site.nodes.now[f"/{NODE}"]["metadata"].get("annotations") or {}), "all of that", 60
    )  # else a heartbeat of before might be taken for one of after
    before = condition(site.nodes.now[f"/{NODE}"], "Ready")["lastHeartbeatTime"]

    def later() -> bool:
        found = site.nodes.now[f"/{NODE}"]
        return condition(found, "FrequentRestart") != {} and condition(found, "Ready")["lastHeartbeatTime"] != before

    site.nodes.until(later, "a status that the agent wrote", 60)
    node = site.nodes.now[f"/{NODE}"]
    assert condition(node, "FrequentRestart")["reason"] == "Fine"
    assert node["metadata"]["annotations"]["mine"] == "kept"
    assert node["metadata"]["labels"]["mine"] == "too"


def test_a_node_may_not_change_another_node(site: Joined) -> None:
    with ApiConnection(site.cluster.node_kubeconfig(NODE)) as api:
        try:
            api.call("POST", NODES, {"metadata": {"name": "other"}})
        except Forbidden:
            return
    raise AssertionError("another node was made")
