"""What a resize changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.pod_workers.pod.resize_plan import changes, resources_of, swaps
from actors.pod_workers.pod.resize_progress import ResizeProgress
from actors.pod_workers.pod.state import PodState
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.names import CONTAINER_RESOURCES
from actors.shared.kube.pod import Pod


def pod(resources: dict[str, Any], **more: Any) -> Pod:
    container = {"name": "a", "image": "i", "resources": resources, **more}
    return msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [container]}}, Pod)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, ("cpu", "requests", "increase")),
        ({"cpu": "1"}, {"cpu": "500m"}, ("cpu", "requests", "decrease")),
        ({}, {"memory": "1Gi"}, ("memory", "requests", "add")),
        ({"memory": "1Gi"}, {}, ("memory", "requests", "remove")),
    ],
)
def test_each_changed_amount_is_reported(before: dict[str, str], after: dict[str, str], found: tuple[str, ...]) -> None:
    assert list(changes(pod({"requests": before}), pod({"requests": after}))) == [found]
    limits = [(resource, "limits", operation) for resource, _, operation in [found]]
    assert list(changes(pod({"limits": before}), pod({"limits": after}))) == limits


def test_another_notation_of_the_same_amount_is_no_change() -> None:
    assert list(changes(pod({"requests": {"cpu": "1000m"}}), pod({"requests": {"cpu": "1"}}))) == []


def amounts(request: str, limit: str) -> dict[str, Any]:
    return {"requests": {"memory": request}, "limits": {"memory": limit}}


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (amounts("1Gi", "2Gi"), amounts("1536Mi", "2Gi"), True),
        (amounts("1Gi", "2Gi"), amounts("2Gi", "2Gi"), True),
        (amounts("1Gi", "1Gi"), amounts("512Mi", "1Gi"), True),
        (amounts("1Gi", "2Gi"), amounts("1024Mi", "3Gi"), False),
        (amounts("1Gi", "1Gi"), amounts("2Gi", "2Gi"), False),
    ],
    ids=["another request", "the last to swap", "the first to swap", "another limit", "never swaps"],
)
def test_another_memory_request_of_a_container_that_may_swap_is_refused(
    before: dict[str, Any], after: dict[str, Any], refused: bool
) -> None:
    def may_swap(whole: Pod, name: str) -> bool:
        resources = whole.spec.containers[0].resources
        return resources.requests != resources.limits

    assert swaps(pod(before), pod(after), may_swap) is refused
    policy = {"resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]}
    assert not swaps(pod(before), pod(after, **policy), may_swap)


def resources(cpu: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": cpu})


@pytest.mark.parametrize(
    ("actuated", "annotated", "cpu"),
    [
        ({"id": resources("1"), "a": resources("2")}, True, "1"),
        ({"other": resources("1"), "a": resources("2")}, True, "3"),
        ({"other": resources("1"), "a": resources("2")}, False, "2"),
        ({}, False, "4"),
    ],
    ids=["its own resize", "its creation", "a record of the kubelet's", "its spec"],
)
def test_the_resources_of_a_container_are_those_of_the_newest_fact(
    actuated: dict[str, ResourceRequirements], annotated: bool, cpu: str
) -> None:
    state = PodState(uid="u", resizing=ResizeProgress(actuated=actuated))
    annotations = {CONTAINER_RESOURCES: '{"requests": {"cpu": "3"}}'} if annotated else {}
    instance = CriContainer(id="id", name="a", pod_uid="u", state=CriContainerState.RUNNING, annotations=annotations)
    assert resources_of(state, Container(name="a", resources=resources("4")), instance) == resources(cpu)
