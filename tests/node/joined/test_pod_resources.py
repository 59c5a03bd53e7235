"""The sockets of a joined node for programs of this node: of device monitors, and of those that watch pods."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from proto import k8s_pod_pb2 as core
from proto import podresources_pb2 as api
from proto import podresources_pb2_grpc as stubs
from proto import pods_api_pb2 as pods_api
from proto import pods_api_pb2_grpc as pods_stubs
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, container, joined, pod
from tests.support.runtime import RealRuntime

WAITS = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


def test_pods_of_the_api_server_are_listed_and_found(own: Joined) -> None:
    own.create(pod("held", container("main", "sh", "-c", WAITS), terminationGracePeriodSeconds=1))
    own.wait_pods_ready("held")
    with grpc.insecure_channel(f"unix://{own.node.home}/root/pod-resources/kubelet.sock") as channel:
        stub = stubs.PodResourcesListerStub(channel)
        listed = {one.name: one for one in stub.List(api.ListPodResourcesRequest(), timeout=10).pod_resources}
        assert [one.name for one in listed["held"].containers] == ["main"]
        question = api.GetPodResourcesRequest(pod_name="held", pod_namespace=listed["held"].namespace)
        assert stub.Get(question, timeout=10).pod_resources == listed["held"]
        own.delete("held")
        own.wait_no_pod("held")
        left = stub.List(api.ListPodResourcesRequest(), timeout=10).pod_resources
        assert "held" not in [one.name for one in left]


class PodWatch:
    """What a program of the node sees through the pods API."""

    def __init__(self, site: Joined) -> None:
        self._path = f"unix://{site.node.home}/root/pods-api/pods-api.sock"
        self.phases: dict[str, str] = {}
        """Of each pod, by name."""

    def until(self, condition: Callable[[dict[str, str]], bool]) -> list[str]:
        """Watch again until the phases are so. Returns the kinds of the events. Raises grpc.RpcError."""
        self.phases.clear()
        kinds = []
        with grpc.insecure_channel(self._path) as channel:
            for event in pods_stubs.PodsStub(channel).WatchPods(pods_api.WatchPodsRequest(), timeout=60):
                kinds.append(pods_api.EventType.Name(event.type))
                pod = core.Pod.FromString(event.pod)
                if kinds[-1] == "DELETED":
                    del self.phases[pod.metadata.name]
                elif kinds[-1] != "INITIAL_SYNC_COMPLETE":
                    self.phases[pod.metadata.name] = pod.status.phase
                if "INITIAL_SYNC_COMPLETE" in kinds and condition(self.phases):
                    return kinds
        raise AssertionError(f"the watch ended: {self.phases}")

    def listed(self) -> dict[str, core.Pod]:
        """By name. Raises grpc.RpcError."""
        with grpc.insecure_channel(self._path) as channel:
            found = pods_stubs.PodsStub(channel).ListPods(pods_api.ListPodsRequest(), timeout=10).pods
            pods = [core.Pod.FromString(one) for one in found]
            return {pod.metadata.name: pod for pod in pods}


_numbers = itertools.count()


@pytest.fixture
def watched(real_runtime: RealRuntime) -> Iterator[Joined]:
    """A node with the pods API and a pod that runs."""
    with joined(real_runtime, f"watched{next(_numbers)}", featureGates={"PodsAPI": True}) as site:
        site.create(pod("held", container("main", "sh", "-c", WAITS), terminationGracePeriodSeconds=1))
        site.wait_pods_ready("held")
        yield site


def test_pods_are_watched_on_their_socket_without_the_api_server(watched: Joined) -> None:
    site, watch = watched, PodWatch(watched)
    assert watch.until(lambda phases: phases == {"held": "Running"}) == ["ADDED", "INITIAL_SYNC_COMPLETE"]
    if not isinstance(site.cluster, ApiProcess):
        pytest.skip("NOT TESTED: a real cluster is not stopped")
    site.cluster.signal(signal.SIGSTOP)
    try:
        site.node.write("alone", json.dumps(pod("alone", container("main", "sh", "-c", WAITS))))
        kinds = watch.until(lambda phases: phases.get(f"alone-{NODE}") == "Running")
        assert {"ADDED", "MODIFIED"} >= set(kinds) - {"INITIAL_SYNC_COMPLETE"}
        alone = watch.listed()[f"alone-{NODE}"]
        assert (alone.status.containerStatuses[0].ready, alone.spec.nodeName) == (True, NODE)
        assert alone.status.podIP
        Path(site.node.manifests, "alone.yaml").unlink()
        watch.until(lambda phases: phases == {"held": "Running"})
    finally:
        site.cluster.signal(signal.SIGCONT)


@pytest.mark.parametrize("victim", ["status_manager", "http_servers/pods_server"])
def test_the_pods_api_has_every_pod_again_after_a_kill(watched: Joined, victim: str) -> None:
    site, watch = watched, PodWatch(watched)
    watch.until(lambda phases: phases == {"held": "Running"})
    before = site.node.actors()[victim]
    os.kill(before.pid, signal.SIGKILL)
    site.node.until(lambda: site.node.actors()[victim].incarnation > before.incarnation, f"{victim} again")
    site.node.wait_whole()
    site.create(pod("later", container("main", "sh", "-c", WAITS), terminationGracePeriodSeconds=1))

    def both() -> bool:
        """A server that has just begun refuses until it knows all pods."""
        try:
            watch.until(lambda phases: phases == {"held": "Running", "later": "Running"})
        except grpc.RpcError:
            return False
        return True

    site.node.until(both, "both pods")
