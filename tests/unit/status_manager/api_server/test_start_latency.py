"""How long a pod took to start, as the metrics say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube import codec
from actors.status_manager.api_server.start_latency import StartLatency, union
from actors.status_manager.messages import PodObserved
from actors.status_manager.pods.api_pods import ApiPod
from actors.status_manager.pods.tracked_pod import TrackedPod
from supervision.metrics import Metrics

CREATED = 1_700_000_000.0
RUNNING = {"running": {"startedAt": "2023-11-14T22:13:25Z"}}


def api_pod(state: dict | None = None, **status: object) -> ApiPod:
    meta = {"uid": "u", "name": "p", "namespace": "n", "creationTimestamp": "2023-11-14T22:13:20Z"}
    if state is not None:
        container = {
            "name": "a",
            "state": state,
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "image": "i",
            "imageID": "",
        }
        status["containerStatuses"] = [container]
    return codec.decode(json.dumps({"metadata": meta, "status": status}).encode(), ApiPod)


def known(pulls: list[tuple[float, float]] | None = None, **spec: object) -> TrackedPod:
    pod = json.dumps({"metadata": {"uid": "u"}, "spec": {"containers": [{"name": "a"}], **spec}}).encode()
    return TrackedPod(PodObserved("u", pod, "running", pulls=pulls or []), codec.decode_pod(pod), CREATED)


def measured(metrics: Metrics) -> dict[str, float]:
    return {each.name.removeprefix("kubelet_"): each.value for each in metrics.snapshot("x", 1).samples}


def started(of: TrackedPod, **status: object) -> dict[str, float]:
    metrics = Metrics()
    latency = StartLatency(metrics)
    latency.watched(api_pod(), of, CREATED)
    latency.watched(api_pod({"waiting": {}}), of, CREATED + 1)
    latency.watched(api_pod(RUNNING, **status), of, CREATED + 6)
    latency.watched(api_pod(RUNNING, **status), of, CREATED + 60)
    return measured(metrics)


def test_a_pod_is_measured_once_from_its_creation_until_the_watch_shows_it_started():
    assert started(known()) == {
        "pod_start_total_duration_seconds": 6.0,
        "pod_start_sli_duration_seconds": 6.0,
        "first_network_pod_start_sli_duration_seconds": 6.0,
    }


def test_pulls_and_init_containers_are_not_in_the_indicator():
    init = {
        "name": "i", "lastState": {}, "ready": True, "restartCount": 0, "image": "i", "imageID": "",
        "state": {
            "terminated": {"exitCode": 0, "startedAt": "2023-11-14T22:13:23Z", "finishedAt": "2023-11-14T22:13:24Z"},
        },
    }  # fmt: skip
    found = started(known([(CREATED + 1, CREATED + 2), (CREATED + 1.5, CREATED + 3)]), initContainerStatuses=[init])
    assert found["pod_start_sli_duration_seconds"] == 3.0
    assert found["pod_start_total_duration_seconds"] == 6.0


def test_pods_with_state_are_not_in_the_indicator():
    stateful = known(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    assert set(started(stateful)) == {"pod_start_total_duration_seconds"}
    assert "pod_start_sli_duration_seconds" in started(known(volumes=[{"name": "v", "emptyDir": {}}]))


def test_pods_that_started_before_the_agent_are_not_measured():
    metrics = Metrics()
    latency = StartLatency(metrics)
    latency.watched(api_pod(RUNNING, startTime="2023-11-14T22:13:20Z"), known(), CREATED + 6)
    assert measured(metrics) == {}


@pytest.mark.parametrize(("seen", "latency"), [("2022-01-01T00:00:00Z", 6.0), ("2023-11-14T22:13:22.5Z", 3.5)])
def test_a_static_pod_is_measured_from_when_the_agent_saw_it_however_old_its_file_is(seen, latency):
    metrics, pod = Metrics(), known()
    pod.pod.metadata.annotations["kubernetes.io/config.seen"] = seen
    StartLatency(metrics).first_running(pod, CREATED + 6)
    assert measured(metrics) == {"pod_start_duration_seconds": latency}


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted).map(tuple)))
def test_the_union_of_spans_counts_each_second_once(spans):
    covered = {second for begin, end in spans for second in range(begin, end)}
    assert union(spans) == len(covered)
