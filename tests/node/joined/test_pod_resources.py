"""The pod resources socket of a joined node, as a device monitor asks it."""

from __future__ import annotations

import grpc

from proto import podresources_pb2 as api
from proto import podresources_pb2_grpc as stubs
from tests.support.joined import Joined, container, pod

WAITS = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


def test_pods_of_the_api_server_are_listed_and_found(site: Joined) -> None:
    site.create(pod("held", container("main", "sh", "-c", WAITS), terminationGracePeriodSeconds=1))
    site.wait_pods_ready("held")
    with grpc.insecure_channel(f"unix://{site.node.home}/root/pod-resources/kubelet.sock") as channel:
        stub = stubs.PodResourcesListerStub(channel)
        listed = {one.name: one for one in stub.List(api.ListPodResourcesRequest(), timeout=10).pod_resources}
        assert [one.name for one in listed["held"].containers] == ["main"]
        question = api.GetPodResourcesRequest(pod_name="held", pod_namespace=listed["held"].namespace)
        assert stub.Get(question, timeout=10).pod_resources == listed["held"]
        site.delete("held")
        site.wait_no_pod("held")
        left = stub.List(api.ListPodResourcesRequest(), timeout=10).pod_resources
        assert "held" not in [one.name for one in left]
