"""The pod resources server, with a real gRPC client on its socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest

from actors.container_manager.messages import ExclusiveHardware, GetExclusiveHardware
from actors.device_manager.messages import (
    ClaimedDevice,
    Devices,
    GetDevices,
    GetPodClaims,
    ListedDevices,
    PodClaim,
    PodClaims,
)
from actors.http_servers.pod_resources_server import PodResourcesServer
from actors.http_servers.serving.api_socket import RETRY_SECONDS
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.hardware.exclusive import ContainerExclusive, Exclusive, MemoryOfNodes
from actors.shared.relay import listen
from actors.status_manager.messages import GetPods, Pods
from proto import podresources_pb2 as api
from proto import podresources_pb2_grpc as stubs
from supervision.actor import AskError
from supervision.listeners import Make
from supervision.testing.harness import Harness


def pods(*names: str, phase: str = "Running") -> Pods:
    items = [
        {
            "metadata": {"name": n, "namespace": "d", "uid": f"uid-{n}"},
            "spec": {"containers": [{"name": "c"}]},
            "status": {"phase": phase},
        }
        for n in names
    ]
    return Pods(json.dumps({"items": items}).encode())


class Node:
    """The server in a harness; `gates` are set on its configuration."""

    def __init__(self, directory: Path, **gates: bool) -> None:
        self.path = directory / "pod-resources" / "kubelet.sock"
        run_dir = directory / "run"
        run_dir.mkdir(mode=0o700)
        config = KubeletConfiguration(featureGates=gates)
        agent = Agent(config=config, root_dir=str(directory), run_dir=str(run_dir))
        self.harness = Harness(PodResourcesServer, name="http_servers/pod_resources_server", context=agent)
        self.harness.answer(GetPods, pods("p", "q"))
        self.harness.answer(GetDevices, Devices({}, []))
        self.harness.answer(GetExclusiveHardware, ExclusiveHardware(Exclusive()))

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[stubs.PodResourcesListerAsyncStub]:
        async with asyncio.timeout(20), self.harness, grpc.aio.insecure_channel(f"unix://{self.path}") as channel:
            yield stubs.PodResourcesListerStub(channel)
            await channel.close(None)
            await self.harness.stop()

    def counted(self, name: str) -> float:
        samples = self.harness.actor.metrics.snapshot("a", 1).samples
        found = [one.value for one in samples if one.name == f"kubelet_pod_resources_endpoint_{name}"]
        return sum(found)


async def test_the_devices_of_a_containers_claims_are_listed(tmp_path):
    node = Node(tmp_path)
    use = {"resources": {"claims": [{"name": "gpu", "request": "big"}]}}
    spec = {
        "containers": [{"name": "with", **use}, {"name": "without"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}],
    }
    item = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": spec, "status": {"phase": "Running"}}
    node.harness.answer(GetPods, Pods(json.dumps({"items": [item]}).encode()))
    device = ClaimedDevice(driver="gpu.example.com", pool="pool", device="gpu-0", cdi_devices=["example.com/gpu=0"])
    found = [PodClaim(namespace=n, name="one", pods=["u"], devices=[device]) for n in ("another", "d")]
    node.harness.answer(GetPodClaims, PodClaims(found))
    async with node.serve() as client:
        listed = (await client.List(api.ListPodResourcesRequest())).pod_resources[0]
        got = (await client.Get(api.GetPodResourcesRequest(pod_name="p", pod_namespace="d"))).pod_resources
        assert listed == got
        one = api.ClaimResource(
            cdi_devices=[api.CDIDevice(name="example.com/gpu=0")],
            driver_name="gpu.example.com",
            pool_name="pool",
            device_name="gpu-0",
        )
        wanted = api.DynamicResource(claim_name="one", claim_namespace="d", claim_resources=[one])
        assert {c.name: list(c.dynamic_resources) for c in listed.containers} == {"with": [wanted], "without": []}


async def test_without_the_device_manager_a_list_with_claims_is_unavailable_and_not_wrong(tmp_path):
    node = Node(tmp_path)
    containers = [{"name": "c", "resources": {"claims": [{"name": "gpu"}]}}]
    spec = {"containers": containers, "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}
    item = {"metadata": {"name": "p", "namespace": "d"}, "spec": spec}
    node.harness.answer(GetPods, Pods(json.dumps({"items": [item]}).encode()))
    node.harness.answer(GetPodClaims, AskError("away"))
    async with node.serve() as client:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await client.List(api.ListPodResourcesRequest())
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_every_pod_and_its_containers_are_listed(tmp_path):
    node = Node(tmp_path)
    async with node.serve() as client:
        answer = await client.List(api.ListPodResourcesRequest())
        assert [(p.name, p.namespace, [c.name for c in p.containers]) for p in answer.pod_resources] == [
            ("p", "d", ["c"]),
            ("q", "d", ["c"]),
        ]
        assert await client.GetAllocatableResources(api.AllocatableResourcesRequest()) == (
            api.AllocatableResourcesResponse()
        )
        assert node.counted("requests_total") == 2
        assert node.counted("requests_list") == 1
        assert node.counted("errors_list") == 0


async def test_devices_are_those_of_the_device_manager_with_their_nodes(tmp_path):
    node = Node(tmp_path)
    one, other = ListedDevices("v.test/x", ["a"], [1]), ListedDevices("v.test/x", ["b"])
    node.harness.answer(GetDevices, Devices({"uid-p": {"c": [one]}}, [one, other]))
    async with node.serve() as client:
        p, q = (await client.List(api.ListPodResourcesRequest())).pod_resources
        (device,) = p.containers[0].devices
        assert (device.resource_name, list(device.device_ids)) == ("v.test/x", ["a"])
        assert [at.ID for at in device.topology.nodes] == [1]
        assert not q.containers[0].devices
        found = (await client.GetAllocatableResources(api.AllocatableResourcesRequest())).devices
        assert [list(one.device_ids) for one in found] == [["a"], ["b"]]
        assert not found[1].HasField("topology")
        node.harness.answer(GetDevices, AskError("device_manager is silent"))
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await client.Get(api.GetPodResourcesRequest(pod_name="p", pod_namespace="d"))
        assert failed.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_cpus_and_memory_are_those_of_the_container_manager(tmp_path):
    node = Node(tmp_path)
    own = ContainerExclusive(cpus=(2, 5), memory=(MemoryOfNodes("hugepages-2Mi", 4 << 20, (0, 1)),))
    found = Exclusive({"uid-p": {"c": own}}, cpus=(1, 2, 5), memory=(MemoryOfNodes("memory", 1 << 30, (1,)),))
    node.harness.answer(GetExclusiveHardware, ExclusiveHardware(found))
    async with node.serve() as client:
        p, q = (await client.List(api.ListPodResourcesRequest())).pod_resources
        (container,) = p.containers
        assert list(container.cpu_ids) == [2, 5]
        (memory,) = container.memory
        assert (memory.memory_type, memory.size) == ("hugepages-2Mi", 4 << 20)
        assert [at.ID for at in memory.topology.nodes] == [0, 1]
        assert not q.containers[0].cpu_ids
        allocatable = await client.GetAllocatableResources(api.AllocatableResourcesRequest())
        assert list(allocatable.cpu_ids) == [1, 2, 5]
        assert [(one.memory_type, one.size) for one in allocatable.memory] == [("memory", 1 << 30)]
        node.harness.answer(GetExclusiveHardware, AskError("container_manager is silent"))
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await client.List(api.ListPodResourcesRequest())
        assert failed.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_one_pod_is_reported_by_name_and_an_unknown_one_is_not_found(tmp_path):
    node = Node(tmp_path)
    async with node.serve() as client:
        answer = await client.Get(api.GetPodResourcesRequest(pod_name="q", pod_namespace="d"))
        assert answer.pod_resources.name == "q"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.Get(api.GetPodResourcesRequest(pod_name="q", pod_namespace="other"))
        assert refused.value.code() == grpc.StatusCode.UNKNOWN
        assert refused.value.details() == "pod q in namespace other not found"
        async with asyncio.timeout(20):  # the caller may have the answer before it is counted
            while node.counted("errors_get") != 1:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(("gates", "listed"), [({}, 0), ({"KubeletPodResourcesListUseActivePods": False}, 1)])
async def test_pods_that_have_ended_are_listed_only_when_the_gate_is_off(tmp_path, gates, listed):
    node = Node(tmp_path, **gates)
    node.harness.answer(GetPods, pods("p", phase="Succeeded"))
    async with node.serve() as client:
        assert len((await client.List(api.ListPodResourcesRequest())).pod_resources) == listed


async def test_a_client_that_spins_is_held_off(tmp_path):
    async with Node(tmp_path).serve() as client:
        calls = [client.GetAllocatableResources(api.AllocatableResourcesRequest()) for _ in range(60)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        codes = [one.code() for one in results if isinstance(one, grpc.aio.AioRpcError)]
        assert set(codes) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert len(codes) < 51


async def test_a_silent_status_manager_is_a_failure_that_passes(tmp_path):
    node = Node(tmp_path)
    node.harness.answer(GetPods, AskError("status_manager is silent"))
    async with node.serve() as client:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await client.List(api.ListPodResourcesRequest())
        assert failed.value.code() == grpc.StatusCode.UNAVAILABLE
        node.harness.answer(GetPods, pods("p"))
        assert len((await client.List(api.ListPodResourcesRequest())).pod_resources) == 1


async def test_the_socket_is_for_root_alone_and_replaces_one_that_was_left(tmp_path):
    node = Node(tmp_path)
    node.path.parent.mkdir(mode=0o750)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(node.path))
    async with node.serve() as client:
        mode = os.lstat(node.path).st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o660
        assert stat.S_IMODE(node.path.parent.stat().st_mode) == 0o750
        assert (await client.List(api.ListPodResourcesRequest())).pod_resources


@pytest.mark.parametrize("removed", [False, True])
async def test_the_last_incarnations_socket_is_used_unless_it_was_removed(tmp_path, monkeypatch, removed):
    node = Node(tmp_path)
    node.path.parent.mkdir(mode=0o750)
    kept = [listen(str(node.path))]
    kept[0].listen()
    inode = node.path.stat().st_ino
    if removed:
        node.path.unlink()

    def inherited(label: str, make: Make) -> list[socket.socket]:
        assert label == f"unix:{node.path}"
        return [kept.pop()] if kept else make()

    monkeypatch.setattr(node.harness.port, "listen", inherited)
    async with node.serve() as client:
        assert (await client.List(api.ListPodResourcesRequest())).pod_resources
        assert removed or node.path.stat().st_ino == inode


async def test_a_link_in_place_of_the_socket_blocks_serving_until_it_is_removed(tmp_path):
    node, precious = Node(tmp_path), tmp_path / "precious"
    precious.write_text("kept")
    node.path.parent.mkdir()
    node.path.symlink_to(precious)
    async with node.serve() as client:
        assert node.path.is_symlink()
        assert precious.read_text() == "kept"
        node.path.unlink()
        await node.harness.advance(RETRY_SECONDS)
        assert (await client.List(api.ListPodResourcesRequest(), wait_for_ready=True)).pod_resources


def test_grpc_is_not_loaded_before_the_first_client():
    code = "import sys; import actors.http_servers.pod_resources_server; print([m for m in sys.modules if 'grpc' in m])"
    root = Path(__file__).parents[3]
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=30
    )
    assert shown.stdout.strip() == "[]"


async def test_clients_of_v1alpha1_get_the_devices_of_regular_containers_of_ended_pods_too(tmp_path) -> None:
    node = Node(tmp_path)
    listed = json.loads(pods("p", "q", phase="Succeeded").data)
    listed["items"][0]["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}]
    node.harness.answer(GetPods, Pods(json.dumps(listed).encode()))
    held = {"uid-p": {"c": [ListedDevices("example.com/gpu", ["g1"], [1])]}}
    node.harness.answer(GetDevices, Devices(held, []))
    async with node.serve(), grpc.aio.insecure_channel(f"unix://{node.path}") as channel:
        call = channel.unary_unary(
            "/v1alpha1.PodResourcesLister/List",
            request_serializer=api.ListPodResourcesRequest.SerializeToString,
            response_deserializer=api.ListPodResourcesResponse.FromString,
        )
        answer = await call(api.ListPodResourcesRequest())
        assert [(pod.name, [one.name for one in pod.containers]) for pod in answer.pod_resources] == [
            ("p", ["c"]), ("q", ["c"]),
        ]  # fmt: skip
        (device,) = answer.pod_resources[0].containers[0].devices
        assert (device.resource_name, list(device.device_ids), device.HasField("topology")) == (
            "example.com/gpu", ["g1"], False,
        )  # fmt: skip
        assert (node.counted("requests_total"), node.counted("requests_list")) == (1, 0)
