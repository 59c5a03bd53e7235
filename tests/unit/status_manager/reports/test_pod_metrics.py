"""Labels of metrics of pods."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.pod import ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus
from actors.shared.metrics import catalogue
from actors.status_manager.messages import PodObserved, Resize, WorkerPhase
from actors.status_manager.pods.pod_table import PodTable
from actors.status_manager.pods.tracked_pod import TrackedPod, tracked
from actors.status_manager.reports.pod_metrics import REJECTIONS, PodMetrics, rejection_label
from supervision.metrics import Metrics


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("OutOfcpu", "OutOfcpu"),
        ("NodeShutdown", "NodeShutdown"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("SomethingElse", "Other"),
        ("", "Other"),
    ],
)
def test_a_reason_for_a_rejection_has_a_label(reason, label):
    assert rejection_label(reason) == label


@given(st.text())
def test_no_reason_makes_a_new_label(reason):
    assert rejection_label(reason) in REJECTIONS | {"OutOfExtendedResources", "Other"}


def report(
    uid: str, *, phase: WorkerPhase = "running", static: bool = False, ephemeral: int = 0, **seen: Any
) -> TrackedPod:
    notes = {"kubernetes.io/config.source": "file"} if static else {}
    extra = [{"name": f"e{number}"} for number in range(ephemeral)]
    metadata = {"name": uid, "namespace": "n", "uid": uid, "annotations": notes}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "a"}], "ephemeralContainers": extra}}
    return tracked(PodObserved(uid, json.dumps(pod).encode(), phase, **seen), 0.0)


class Counted:
    def __init__(self) -> None:
        self.metrics = Metrics(catalogue(strict=True))
        self.pods = PodMetrics(self.metrics)

    def __call__(self, name: str, **labels: str) -> float:
        samples = self.metrics.snapshot("status_manager", 1).samples
        return sum(
            one.value for one in samples if one.name == f"kubelet_{name}" and labels.items() <= one.labels.items()
        )


def test_pods_are_counted_by_who_wants_them_and_what_is_done_with_them() -> None:
    counted, table = Counted(), PodTable()
    for each in (
        report("a", ephemeral=2),
        report("b", phase="terminating", static=True),
        report("c", phase="rejected"),
        report("d", phase="terminating", removed=True, ephemeral=1),
    ):
        table.put(each)
    counted.pods.leftover("x", "terminating")
    counted.pods.leftover("y", "running")
    counted.pods.gauges(table)
    assert (counted("desired_pods", static=""), counted("desired_pods", static="true")) == (2, 1)
    assert counted("managed_ephemeral_containers") == 2, "of pods that a source has"
    working = {
        (config, lifecycle): counted("working_pods", config=config, lifecycle=lifecycle)
        for config in ("desired", "orphan", "runtime_only")
        for lifecycle in ("sync", "terminating", "terminated")
    }
    assert {key: value for key, value in working.items() if value} == {
        ("desired", "sync"): 1,
        ("desired", "terminating"): 1,
        ("desired", "terminated"): 1,
        ("orphan", "terminating"): 1,
        ("runtime_only", "sync"): 1,
        ("runtime_only", "terminating"): 1,
    }
    assert counted("working_pods", config="desired", static="true") == 1
    counted.pods.forget("x")
    assert counted.pods.leftovers() == ["y"]


def test_resizes_are_counted_while_they_wait_and_while_they_are_carried_out() -> None:
    counted, table = Counted(), PodTable()
    resizes = [Resize("Deferred"), Resize("Deferred"), Resize("Infeasible", in_progress=True), Resize(in_progress=True)]
    for number, resize in enumerate(resizes):
        table.put(report(f"p{number}", resize=resize))
    table.put(report("none"))
    counted.pods.gauges(table)
    assert [counted("pod_pending_resizes", reason=reason) for reason in ("deferred", "infeasible")] == [2, 1]
    assert counted("pod_in_progress_resizes") == 2


def test_each_end_of_a_container_is_counted_once() -> None:
    def ended(*ids: str) -> TrackedPod:
        statuses = [
            ContainerStatus(
                name=own,
                state=ContainerState(terminated=ContainerStateTerminated(1, reason="Error", containerID=own)),
                lastState=ContainerState(), ready=False, restartCount=0, image="i", imageID="",
            )
            for own in ids
        ]  # fmt: skip
        return msgspec.structs.replace(report("u"), status=PodStatus(containerStatuses=statuses))

    counted = Counted()
    counted.pods.changed(report("u"), ended("a"))
    counted.pods.changed(ended(), ended("a"))
    counted.pods.changed(ended("a"), ended("a", "b"))
    counted.pods.changed(ended("a", "b"), ended("a", "b"))
    labels = {"container_type": "container", "exit_code": "1", "reason": "Error"}
    assert counted("terminated_containers_total", **labels) == 2
