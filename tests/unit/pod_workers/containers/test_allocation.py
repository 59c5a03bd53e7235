"""What a pod was given, and how that differs from what its spec asks for."""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.pod_workers.containers import allocation
from actors.pod_workers.containers.container_config import container_annotations
from actors.pod_workers.phases.actions import Start
from actors.shared.cri.model import CriContainer
from actors.shared.kube import codec
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.names import CONTAINER_RESOURCES
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import POD_LEVEL, PodRecord


def pod_of(**resources: dict) -> Pod:
    containers = [{"name": name, "image": "i", "resources": amounts} for name, amounts in resources.items()]
    return codec.decode_pod(
        json.dumps({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": containers}}).encode()
    )


def requests(**amounts: str) -> dict:
    return {"requests": amounts}


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (requests(cpu="100m"), requests(cpu="0.1"), []),
        (requests(cpu="100m", memory="1Mi"), requests(cpu="200m", memory="1024Ki"), ["cpu"]),
        (requests(cpu="1"), {"limits": {"cpu": "1"}}, ["cpu"]),
        ({}, requests(memory="1Mi"), ["memory"]),
        (requests(**{"ephemeral-storage": "1Gi"}), {}, []),
        ({"limits": {"cpu": "0", "memory": "64Mi"}}, {"limits": {"memory": "64Mi"}}, []),
    ],
)
def test_only_cpu_and_memory_are_resized(one, other, names):
    first, second = ResourceRequirements(**one), ResourceRequirements(**other)
    assert allocation.resized(first, second) == allocation.resized(second, first) == names


def test_a_pod_with_allocated_resources_requests_exactly_these():
    before, after = pod_of(a=requests(cpu="1"), b={}), pod_of(a=requests(cpu="2"), b=requests(cpu="1"))
    given = allocation.with_resources(after, allocation.of(before))
    assert allocation.of(given) == allocation.of(before)
    assert allocation.same(allocation.of(given), allocation.of(before))
    assert not allocation.same(allocation.of(after), allocation.of(before))


NEW, OLD = ResourceRequirements(requests={"cpu": "2"}), ResourceRequirements(requests={"cpu": "1"})


def test_records_of_this_agent_apply_to_the_recorded_instances():
    pod = pod_of(a=requests(cpu="3"), b=requests(cpu="3"))
    actuated = PodRecord(ContainerResources={"a": OLD}, ContainerIDs={"a": "id"})
    kept = allocation.stored_of(pod, PodRecord(ContainerResources={"a": NEW}, ResizeUnderWay=True), actuated)
    assert kept.allocated == {"a": NEW, "b": pod.spec.containers[1].resources}, "b has no record"
    assert (kept.actuated, kept.under_way) == ({"id": OLD}, True)


def test_records_of_a_kubelet_apply_by_container_name():
    pod = pod_of(a=requests(cpu="3"))
    kept = allocation.stored_of(pod, PodRecord(ContainerResources={"a": NEW}), PodRecord(ContainerResources={"a": OLD}))
    assert kept == allocation.StoredAllocation({"a": NEW}, {"a": OLD})


def test_records_of_a_kubelet_have_the_limits_of_the_pod_at_containers_without_their_own():
    whole = ResourceRequirements(limits={"cpu": "300m", "memory": "64Mi"})
    own = ResourceRequirements(limits={"memory": "64Mi"})
    pod = pod_of(a={}, b={"limits": {"memory": "64Mi"}})
    allocated = PodRecord(ContainerResources={"a": ResourceRequirements(), "b": own}, PodLevelResources=whole)
    actuated = PodRecord(ContainerResources={"a": whole, "b": whole}, PodLevelResources=whole)
    kept = allocation.stored_of(pod, allocated, actuated)
    assert kept.actuated == {"a": ResourceRequirements(), "b": own, POD_LEVEL: whole}


def test_other_limits_that_a_kubelet_recorded_are_still_to_be_resized():
    whole, before = ResourceRequirements(limits={"cpu": "300m"}), ResourceRequirements(limits={"cpu": "200m"})
    allocated = PodRecord(ContainerResources={"a": ResourceRequirements()}, PodLevelResources=whole)
    kept = allocation.stored_of(
        pod_of(a={}), allocated, PodRecord(ContainerResources={"a": before}, PodLevelResources=whole)
    )
    assert kept.actuated["a"] == before


@pytest.mark.parametrize(("whole", "found"), [({"PodLevelResources": None}, None), ({}, NEW)])
def test_a_record_without_the_resources_of_the_pod_itself_leaves_the_specs(whole, found):
    pod = pod_of(a=requests(cpu="3"))
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resources=NEW))
    assert allocation.stored_of(pod, PodRecord(**whole), None).allocated.get(POD_LEVEL) == found


def test_a_container_of_a_pod_with_resources_records_its_own_resources():
    pod = pod_of(a=requests(cpu="1"), b={})
    for container in pod.spec.containers:
        ran = CriContainer(
            id="x", name=container.name, pod_uid="u", annotations=container_annotations(pod, Start(container, 0))
        )
        assert allocation.made_with(ran) == container.resources
    alone = pod_of(b={})
    assert CONTAINER_RESOURCES not in container_annotations(alone, Start(alone.spec.containers[0], 0))
    assert (
        allocation.made_with(CriContainer(id="x", name="b", pod_uid="u", annotations={CONTAINER_RESOURCES: "?"}))
        is None
    )
