"""Starts of sandboxes and containers are counted as in the kubelet."""

from __future__ import annotations

import pytest

from actors.pod_workers.errors import StartFailed
from actors.pod_workers.executor.shard_metrics import ShardMetrics, container_type
from actors.shared.kube.codec import decode
from actors.shared.kube.pod import Pod
from actors.shared.metrics import catalogue
from supervision.metrics import Metrics

POD = decode(
    b'{"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"hostUsers":false,'
    b'"containers":[{"name":"a"},{"name":"b"}],"initContainers":[{"name":"i"}]}}',
    Pod,
)


class Counted:
    def __init__(self) -> None:
        self.metrics = Metrics(catalogue(strict=True))
        self.shard = ShardMetrics(self.metrics)

    def __call__(self, name: str, *labels: str) -> float:
        samples = self.metrics.snapshot("worker", 1).samples
        return sum(one.value for one in samples if (one.name, *one.labels.values()) == (f"kubelet_{name}", *labels))


def test_pods_that_are_added_again_are_counted_by_their_kind_from_zero():
    counted = Counted()
    found = counted.metrics.snapshot("worker", 1).samples
    samples = [one for one in found if one.name == "kubelet_restarted_pods_total"]
    assert sorted((one.labels["static"], one.value) for one in samples) == [("", 0), ("true", 0)]
    counted.shard.restarted(POD)
    assert counted("restarted_pods_total", "") == 1


def test_a_sandbox_is_counted_when_its_start_begins_and_when_it_fails():
    counted = Counted()
    counted.shard.sandbox_starts(POD, 0)
    counted.shard.sandbox_ran("gvisor", 0.2, failed=True)
    counted.shard.sandbox_failed(POD)
    counted.shard.sandbox_starts(POD, 1)
    counted.shard.sandbox_ran("gvisor", 0.3, failed=False)
    assert (counted("started_pods_total"), counted("started_pods_errors_total")) == (2, 1)
    assert counted("started_user_namespaced_pods_total") == 2
    assert counted("started_user_namespaced_pods_errors_total") == 1
    assert counted("run_podsandbox_duration_seconds", "gvisor") == pytest.approx(0.5)
    assert counted("run_podsandbox_errors_total", "gvisor") == 1
    assert counted("containers_per_pod_count") == 2, "for a pod's first sandbox only"


def test_containers_are_counted_by_their_type_and_failures_by_their_reason():
    counted = Counted()
    for name in ("a", "b", "i"):
        counted.shard.container_starts(POD, name)
    counted.shard.container_failed(POD, "i", "ErrImagePull")
    assert counted("started_containers_total", "container") == 2
    assert counted("started_containers_total", "init_container") == 1
    assert counted("started_containers_errors_total", "ErrImagePull", "init_container") == 1


@pytest.mark.parametrize(("reason", "requested", "failed"), [("ErrImagePull", 1, 1), ("", 0, 0)])
def test_an_image_volume_fails_when_its_pull_has_failed_and_not_before(reason, requested, failed):
    counted = Counted()
    with pytest.raises(StartFailed), counted.shard.image_volume():
        raise StartFailed(reason, "text")
    assert counted("image_volume_requested_total") == requested
    assert counted("image_volume_mounted_errors_total") == failed
    with counted.shard.image_volume():
        pass
    assert counted("image_volume_mounted_succeed_total") == 1


def test_an_ephemeral_container_has_its_own_type():
    pod = decode(b'{"spec":{"containers":[{"name":"a"}],"ephemeralContainers":[{"name":"e"}]}}', Pod)
    assert container_type(pod, "e") == "ephemeral_container"
    assert container_type(pod, "a") == "container"


def test_synchronizations_are_measured_by_their_operation():
    counted = Counted()
    counted.shard.first_sync(0.25)
    counted.shard.synced("create", 0.5)
    counted.shard.synced("kill", 2.0)
    assert counted("pod_worker_start_duration_seconds") == 0.25
    assert [counted("pod_worker_duration_seconds", kind) for kind in ("create", "kill", "sync")] == [0.5, 2.0, 0]


def test_resizes_are_measured_in_milliseconds_and_counted_by_what_they_ask_and_why_they_cannot_be():
    counted = Counted()
    counted.shard.resized(0.2, success=True)
    counted.shard.resized(3.0, success=False)
    counted.shard.resize_requested("cpu", "limits", "increase")
    counted.shard.resize_infeasible("insufficient_node_allocatable")
    assert [counted("pod_resize_duration_milliseconds", label) for label in ("true", "false")] == [200, 3000]
    found = counted.metrics.snapshot("worker", 1).samples
    (requested,) = (one for one in found if one.name == "kubelet_container_requested_resizes_total")
    assert requested.labels == {"resource": "cpu", "requirement": "limits", "operation": "increase"}
    assert counted("pod_infeasible_resizes_total", "insufficient_node_allocatable") == 1
