"""The status: from facts where there are some, from the API's object where there are none."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from actors.api_clients.heartbeat_client.messages import NodePressure, RuntimeReport
from actors.api_clients.heartbeat_client.node_status.fact_sources import in_order
from actors.api_clients.heartbeat_client.node_status.facts import (
    ContainerImage,
    NodeSettings,
    NodeStatusInput,
    NodeStatusResources,
    NodeSystemInfo,
)
from actors.api_clients.heartbeat_client.node_status.patch import node_patch
from actors.api_clients.heartbeat_client.node_status.runtime_state import RuntimeState
from actors.api_clients.heartbeat_client.node_status.status import changed, compute
from actors.shared.kube.declared_features import declared_features
from actors.shared.kube.quantity_text import written
from tests.support.apiserver.quantities import canonical

SETTINGS = NodeSettings(name="n1", kubelet_version="v1.36.2+x", kubelet_port=10250)
ADDRESSES = [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "n1"}]
CLOCK, NOW, LATER = 1000.0, "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"
CAPACITY = {"cpu": 2000, "memory": 8 << 30, "ephemeral-storage": 100 << 30, "pods": 110, "hugepages-2Mi": 0}
ALLOCATABLE = {"cpu": 1930, "memory": (8 << 30) - (100 << 20), "ephemeral-storage": 96636764161, "pods": 110}


def facts(**more: Any) -> NodeStatusInput:
    state = RuntimeState(started_at=CLOCK).reported(RuntimeReport(ready_at=CLOCK, relisted_at=CLOCK))
    known: dict[str, Any] = {
        "machine": NodeSystemInfo(machine_id="m", system_uuid="s", boot_id="b", kernel="6.1", os_image="Debian"),
        "runtime": state,
        "addresses": ADDRESSES,
        "resources": NodeStatusResources(capacity=CAPACITY, allocatable=ALLOCATABLE),
        "images": [ContainerImage([f"i@sha256:{n}" for n in range(4)] + ["i:1", "i:2"], 7000)],
        "runtime_version": "containerd://1.6.20",
        "pressure": NodePressure(),
    }
    return NodeStatusInput(**{**known, **more})


def made(
    node: dict[str, Any] | None = None, settings: NodeSettings = SETTINGS, now: str = NOW, **more: Any
) -> dict[str, Any]:
    return compute(node or {"metadata": {"name": "n1"}}, facts(**more), settings, now=now, clock=CLOCK).node


def test_a_node_with_all_facts_reported():
    status = made()["status"]
    assert status["capacity"] == {
        "cpu": "2",
        "memory": "8Gi",
        "ephemeral-storage": "100Gi",
        "pods": "110",
        "hugepages-2Mi": "0",
    }
    assert status["allocatable"]["cpu"] == "1930m"
    assert status["allocatable"]["memory"] == "8092Mi"
    assert status["allocatable"]["ephemeral-storage"] == "96636764161"
    assert status["addresses"] == ADDRESSES
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert status["images"] == [{"names": [f"i@sha256:{n}" for n in range(4)] + ["i:1"], "sizeBytes": 7000}]
    assert status["nodeInfo"] == {
        "machineID": "m",
        "systemUUID": "s",
        "bootID": "b",
        "kernelVersion": "6.1",
        "osImage": "Debian",
        "containerRuntimeVersion": "containerd://1.6.20",
        "kubeletVersion": "v1.36.2+x",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def test_unknown_facts_leave_the_status_unchanged():
    before = made(pressure=NodePressure(memory=True), volumes_in_use=["v1"])
    unknown = NodeStatusInput(machine=facts().machine, runtime=RuntimeState(started_at=CLOCK))
    after = compute(before, unknown, SETTINGS, now=LATER, clock=CLOCK + 5)
    assert not changed(before, after.node)
    assert after.events == []


def test_a_heartbeat_alone_is_no_change_and_is_still_in_the_patch():
    before = made()
    after = made(before, now=LATER)
    assert not changed(before, after)
    patch = node_patch(before, after)["status"]
    assert list(patch) == ["conditions"]
    assert patch["conditions"][0] == {"lastHeartbeatTime": LATER, "type": "MemoryPressure"}
    assert len(patch["conditions"]) == 4


def test_the_given_object_is_not_changed():
    before = made()
    kept = copy.deepcopy(before)
    made(before, now=LATER, pressure=NodePressure(disk=True), images=[])
    assert before == kept


def test_a_node_without_capacity_is_not_ready():
    ready = made(resources=None)["status"]["conditions"][-1]
    assert ready["status"] == "False"
    assert ready["message"] == "missing node capacity for resources: cpu, memory, pods, ephemeral-storage"
    settings = msgspec.structs.replace(SETTINGS, ephemeral_storage=False)
    assert made(settings=settings, resources=None)["status"]["conditions"][-1]["message"].endswith("cpu, memory, pods")


def test_reasons_of_a_node_that_is_not_ready_are_in_the_kubelets_order():
    problems = {"shutdown": "node is shutting down", "storage": "CSI is not up", "old": ""}
    ready = made(problems=problems, resources=None)["status"]["conditions"][-1]
    assert ready["message"].startswith("[CSI is not up, node is shutting down, missing node capacity")


def test_huge_pages_that_went_are_removed_and_devices_of_others_stay():
    node = {"status": {"capacity": {"hugepages-1Gi": "1Gi", "example.com/gpu": "2"}}}
    assert "hugepages-1Gi" not in made(node)["status"]["capacity"]
    assert made(node)["status"]["capacity"]["example.com/gpu"] == "2"
    patch = node_patch(node, made(node))
    assert patch["status"]["capacity"]["hugepages-1Gi"] is None


def test_features_are_declared_that_the_agent_has_and_no_longer_when_it_has_them_not():
    offered = (
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    )
    assert declared_features(lambda gate: True) == offered
    assert declared_features(lambda gate: gate != offered[0]) == offered[1:]
    assert declared_features(lambda gate: gate != "NodeDeclaredFeatures") == ()
    assert declared_features(lambda gate: gate == "NodeDeclaredFeatures") == ()
    node = made(settings=msgspec.structs.replace(SETTINGS, declared_features=("A", "B")))
    assert node["status"]["declaredFeatures"] == ["A", "B"]
    assert node_patch(node, made(node)) == {"status": {"declaredFeatures": None}}


def test_resources_of_others_are_allocatable_while_they_are_in_the_capacity():
    """As the documentation has it: the capacity alone is patched."""
    node = made({"status": {"capacity": {"example.com/dongle": "4", "attachable-volumes-x": "9"}}})
    assert node["status"]["allocatable"]["example.com/dongle"] == "4"
    assert node["status"]["allocatable"]["attachable-volumes-x"] == "9"
    assert node["status"]["allocatable"]["cpu"] == "1930m"
    fewer = {"status": {**node["status"], "capacity": {**node["status"]["capacity"], "example.com/dongle": "3"}}}
    assert made(fewer)["status"]["allocatable"]["example.com/dongle"] == "3"
    del fewer["status"]["capacity"]["example.com/dongle"]
    assert node_patch(fewer, made(fewer))["status"]["allocatable"] == {"example.com/dongle": None}


@pytest.mark.parametrize(("most", "count"), [(50, 50), (0, 0), (-1, 60)])
def test_as_many_images_as_configured(most, count):
    images = [ContainerImage([f"i{n}"], 100 - n) for n in range(60)]
    status = made(settings=msgspec.structs.replace(SETTINGS, max_images=most), images=images)["status"]
    assert len(status.get("images", [])) == count


def test_addresses_set_by_a_cloud_provider_are_kept():
    settings = msgspec.structs.replace(SETTINGS, external_cloud=True, node_ips=("10.0.0.7",))
    node: dict[str, Any] = {
        "metadata": {"name": "n1"},
        "status": {"addresses": [{"type": "ExternalIP", "address": "1.2.3.4"}]},
    }
    after = made(node, settings)
    assert after["status"]["addresses"] == node["status"]["addresses"]
    assert after["metadata"]["annotations"] == {"alpha.kubernetes.io/provided-node-ip": "10.0.0.7"}
    assert "annotations" not in made(after)["metadata"]
    assert changed(after, made(after))


def test_a_cloud_gets_no_node_ip_that_no_interface_has():
    settings = msgspec.structs.replace(SETTINGS, external_cloud=True, node_ips=("10.0.0.7",), node_ip_given=True)
    node: dict[str, Any] = {"metadata": {"name": "n1"}}
    assert "annotations" not in made(node, settings, addresses=None)["metadata"]


def test_a_node_waits_for_its_clouds_addresses_unless_it_was_given_one():
    cloud = msgspec.structs.replace(SETTINGS, external_cloud=True)
    assert made(settings=cloud)["status"]["addresses"] == [{"type": "Hostname", "address": "n1"}]
    given = msgspec.structs.replace(cloud, node_ips=("10.0.0.7",), node_ip_given=True)
    assert made(settings=given)["status"]["addresses"] == ADDRESSES


def test_a_node_ip_that_chooses_a_family_gives_the_address_of_the_default_route_also_with_a_cloud():
    cloud = msgspec.structs.replace(SETTINGS, external_cloud=True, node_ip_given=True)
    assert made(settings=cloud)["status"]["addresses"] == ADDRESSES


def test_labels_of_system_and_architecture_are_repaired_at_each_sync():
    before = made()
    spoiled = {**before, "metadata": {"name": "n1", "labels": {"kubernetes.io/os": "plan9", "own": "1"}}}
    after = made(spoiled)
    assert after["metadata"]["labels"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "own": "1"}
    assert changed(spoiled, after)
    assert node_patch(spoiled, after)["metadata"]["labels"] == {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }


def test_two_addresses_of_one_type_replace_the_list():
    before = made()
    two = [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "InternalIP", "address": "fd00::7"}, ADDRESSES[1]]
    patch = node_patch(before, made(before, addresses=two))
    assert patch["status"]["addresses"] == [*two, {"$patch": "replace"}]


def test_a_condition_that_went_is_deleted_by_its_type():
    old = {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}}
    new = {"status": {"conditions": [{"type": "B", "status": "False"}]}}
    assert node_patch(old, new)["status"]["conditions"] == [
        {"status": "False", "type": "B"},
        {"$patch": "delete", "type": "A"},
    ]


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 2000, "2"),
        ("cpu", 500, "500m"),
        ("memory", 0, "0"),
        ("memory", 1536, "1536"),
        ("memory", 8340787200, "8145300Ki"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("memory", 8340787000, "8340787k"),
        ("ephemeral-storage", 64_000_000, "62500Ki"),
        ("ephemeral-storage", 59_000_001, "59000001"),
        ("pods", 1024, "1024"),
        ("pods", 1000, "1k"),
        ("cpu", 1_000_000, "1k"),
        ("example.com/gpu", 2, "2"),
    ],
)
def test_amounts_are_written_as_the_server_writes_them(resource, amount, text):
    assert written(resource, amount) == text == canonical(text)


def test_images_have_one_order_for_any_order_of_the_runtime():
    images = [
        ContainerImage(["b:1", "b@sha256:2", "b@sha256:1"], 5),
        ContainerImage(["a:1"], 5),
        ContainerImage(["c:1"], 9),
    ]
    expected = [
        ContainerImage(["c:1"], 9),
        ContainerImage(["a:1"], 5),
        ContainerImage(["b@sha256:1", "b@sha256:2", "b:1"], 5),
    ]
    assert in_order(images) == in_order(images[::-1]) == expected
