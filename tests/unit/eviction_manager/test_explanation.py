"""The message and the annotations of an eviction, word for word."""

import pytest

from actors.eviction_manager.explanation import explain
from actors.eviction_manager.thresholds import SignalObservation
from actors.eviction_manager.usage import ContainerUsage, DiskUsage, PodUsage
from actors.shared.config.fields.eviction import Amount, Threshold, parse_amount

from .pods import active, container

MI = 1 << 20


def amount_of(text: str) -> Amount:
    found = parse_amount(text)
    assert found is not None
    return found


HUNDRED = Threshold("memory.available", amount_of("100Mi"))


def test_the_message_names_the_containers_that_use_more_memory_than_they_request():
    pod = active(
        container("eater", requests={"memory": "10Mi"}),
        container("modest", requests={"memory": "50Mi"}),
        container("free"),
        initContainers=[container("helper")],
    ).pod
    usage = PodUsage(
        memory=260 * MI,
        containers={
            "eater": ContainerUsage(memory=200 * MI),
            "modest": ContainerUsage(memory=50 * MI),
            "free": ContainerUsage(memory=1536),
            "helper": ContainerUsage(memory=5 * MI),
        },
    )
    explanation = explain(pod, usage, HUNDRED, SignalObservation(92440 * 1024, 2 << 30))
    assert explanation.message == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 92440Ki. "
        "Container eater was using 200Mi, request is 10Mi, has larger consumption of memory. "
        "Container free was using 1536, request is 0, has larger consumption of memory. "
        "Container helper was using 5Mi, request is 0, has larger consumption of memory. "
    )
    assert explanation.annotations == {
        "starved_resource": "memory",
        "offending_containers": "eater,free,helper",
        "offending_containers_usage": "200Mi,1536,5Mi",
    }


def test_a_pod_with_pod_level_memory_is_named_first():
    pod = active(container("eater"), resources={"requests": {"memory": "10Mi"}}).pod
    usage = PodUsage(memory=30 * MI, containers={"eater": ContainerUsage(memory=29 * MI)})
    explanation = explain(pod, usage, HUNDRED, None)
    assert explanation.message == (
        "The node was low on resource: memory. "
        "Pod pod-u was using 30Mi, request is 10Mi, has larger consumption of memory. "
        "Container eater was using 29Mi, request is 0, has larger consumption of memory. "
    )
    assert explanation.annotations["offending_pod"] == "pod-u"
    assert explanation.annotations["offending_pod_usage"] == "30Mi"


@pytest.mark.parametrize(("request_", "text"), [("512M", "512M"), ("228e6", "228e6"), ("0.3Gi", "322122547200m")])
def test_a_request_is_printed_in_the_notation_of_the_spec(request_, text):
    pod = active(container("eater", requests={"memory": request_})).pod
    usage = PodUsage(containers={"eater": ContainerUsage(memory=512 * MI)})
    assert f"was using 512Mi, request is {text}, has" in explain(pod, usage, HUNDRED, None).message


def test_writable_layer_and_log_of_a_container_count_as_its_disk_usage():
    pod = active(container("c", requests={"ephemeral-storage": "1Mi"})).pod
    usage = PodUsage(containers={"c": ContainerUsage(rootfs=DiskUsage(2 * MI, 9), logs=DiskUsage(MI, 1))})
    threshold = Threshold("nodefs.available", Amount(percent=10.0))
    explanation = explain(pod, usage, threshold, SignalObservation(50 * MI, 1000 * MI))
    assert explanation.message == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 104857601, available: 50Mi. "
        "Container c was using 3Mi, request is 1Mi, has larger consumption of ephemeral-storage. "
    )


@pytest.mark.parametrize(
    ("signal", "amount", "capacity", "expected"),
    [
        ("nodefs.inodesFree", "5000", 9, "inodes. Threshold quantity: 5k, available: 4321. "),
        ("imagefs.inodesFree", "5%", 10240, "inodes. Threshold quantity: 512, available: 4321. "),
        ("imagefs.inodesFree", "5%", 40960, "inodes. Threshold quantity: 2Ki, available: 4321. "),
        ("pid.available", "100", 9, "pids. Threshold quantity: 100, available: 4321. "),
        ("memory.available", "1024Mi", 9, "memory. Threshold quantity: 1Gi, available: 4321. "),
        ("memory.available", "134217728", 9, "memory. Threshold quantity: 134217728, available: 4321. "),
        ("memory.available", "0.3Gi", 9, "memory. Threshold quantity: 322122547200m, available: 4321. "),
        ("allocatableMemory.available", "1e9", 9, "memory. Threshold quantity: 1e9, available: 4321. "),
    ],
)
def test_a_quantity_is_printed_in_the_notation_of_the_configuration(signal, amount, capacity, expected):
    threshold = Threshold(signal, amount_of(amount))
    explanation = explain(active().pod, PodUsage(memory=5), threshold, SignalObservation(4321, capacity))
    assert explanation.message == f"The node was low on resource: {expected}"


def test_no_container_is_named_for_inodes_and_process_ids():
    usage = PodUsage(processes=9000, containers={"main": ContainerUsage(rootfs=DiskUsage(1, 9000))})
    explanation = explain(active().pod, usage, Threshold("pid.available", Amount(absolute=1)), None)
    empty = {"offending_containers": "", "offending_containers_usage": ""}
    assert explanation.annotations == {"starved_resource": "pids", **empty}
    assert explanation.message == "The node was low on resource: pids. "


def test_the_event_of_a_pod_of_which_nothing_is_known_has_no_annotations():
    explanation = explain(active().pod, None, HUNDRED, None)
    assert explanation.annotations == {}
    assert explanation.message == "The node was low on resource: memory. "
