"""A pod in one line: the words are those of `kubectl get pods`."""

from __future__ import annotations

from typing import Any

import pytest

from actors.agent.inspection.pod_rows import age, readiness, row, source, state, whole_seconds

NOW = 1_800_000_000.0
BEGIN = "2027-01-15T07:59:00Z"  # a minute before


def container(name: str, **status: Any) -> dict[str, Any]:
    return {"name": name, "restartCount": 0, "ready": False, **status}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **status: Any) -> dict[str, Any]:
    sidecars = {one["name"]: one.pop("sidecar", False) for one in init}
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
        "spec": {
            "containers": [{"name": one["name"]} for one in containers],
            "initContainers": [
                {"name": name, "restartPolicy": "Always"} if sidecar else {"name": name}
                for name, sidecar in sidecars.items()
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
            "startTime": BEGIN,
            **status,
        },
    }


def in_init(state: dict[str, Any]) -> dict[str, Any]:
    return pod(container("a"), init=(container("i", state=state),))


RUNS = {"state": {"running": {"startedAt": BEGIN}}, "ready": True}
DONE = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pod(container("a", **RUNS)), "Running"),
        (pod(phase="Pending"), "Pending"),
        (pod(phase="Failed", reason="Evicted"), "Evicted"),
        (pod(container("a", state={"waiting": {"reason": "CrashLoopBackOff"}})), "CrashLoopBackOff"),
        (pod(container("a", state={"terminated": {"exitCode": 1, "reason": "Error"}})), "Error"),
        (pod(container("a", state={"terminated": {"exitCode": 137, "signal": 9}})), "Signal:9"),
        (pod(container("a", state={"terminated": {"exitCode": 3}})), "ExitCode:3"),
        (pod(container("a", **DONE), phase="Succeeded"), "Completed"),
        (pod(container("a", **DONE), container("b", **RUNS)), "NotReady"),
        (
            pod(
                container("a", **DONE),
                container("b", **RUNS),
                conditions=[{"type": "Ready", "status": "True"}],
            ),
            "Running",
        ),
        (
            pod(container("a", state={"waiting": {}}), container("b", state={"waiting": {"reason": "ErrImagePull"}})),
            "ErrImagePull",
        ),
        (pod(container("a"), init=(container("i", state={"running": {}}),), phase="Pending"), "Init:0/1"),
        (
            pod(container("a"), init=(container("i", **DONE), container("j", state={"running": {}})), phase="Pending"),
            "Init:1/2",
        ),
        (
            pod(container("a"), init=(container("i", state={"waiting": {"reason": "ErrImagePull"}}),)),
            "Init:ErrImagePull",
        ),
        (pod(container("a"), init=(container("i", state={"waiting": {"reason": "PodInitializing"}}),)), "Init:0/1"),
        (
            pod(container("a"), init=(container("i", state={"terminated": {"exitCode": 2, "reason": "Error"}}),)),
            "Init:Error",
        ),
        (pod(container("a", **RUNS), init=(container("s", sidecar=True, started=True, **RUNS),)), "Running"),
        (pod(container("a"), init=(container("s", sidecar=True, state={"running": {}}),)), "Init:0/1"),
    ],
)
def test_the_state_is_what_kubectl_shows(found: dict[str, Any], wanted: str) -> None:
    assert state(found) == wanted


def test_a_deleted_pod_is_terminating_until_it_is_over() -> None:
    found = pod(container("a", **RUNS))
    found["metadata"]["deletionTimestamp"] = BEGIN
    assert state(found) == "Terminating"
    found["status"] = {"phase": "Succeeded", "containerStatuses": [container("a", **DONE)]}
    assert state(found) == "Completed"


def test_sidecars_count_among_the_ready_and_other_init_containers_do_not() -> None:
    init = (container("i", **DONE), container("s", sidecar=True, started=True, **RUNS))
    assert readiness(pod(container("a"), init=init)) == (1, 2)


def test_restarts_are_those_of_init_containers_until_these_are_done() -> None:
    failed = container("i", state={"waiting": {"reason": "CrashLoopBackOff"}}) | {"restartCount": 3}
    assert row(pod(container("a"), init=(failed,)), NOW)[4] == "3"
    assert row(pod(container("a", **RUNS), init=(container("i", **DONE) | {"restartCount": 3},)), NOW)[4] == "0"


def test_a_line_has_restarts_age_address_source_worker_and_uid() -> None:
    last = {"terminated": {"exitCode": 1, "finishedAt": "2027-01-15T07:59:55Z"}}
    found = pod(container("a", **RUNS, lastState=last) | {"restartCount": 3}, podIP="10.0.0.1")
    found["metadata"]["annotations"] = {"kubernetes.io/config.source": "file"}
    assert row(found, NOW, "pod_workers/worker/1") == (
        "shop", "web", "1/1", "Running", "3 (5s ago)", "60s", "10.0.0.1", "file", "pod_workers/worker/1", "u",
    )  # fmt: skip


def test_a_pod_without_any_report_has_a_line() -> None:
    found = {"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "spec": {"containers": [{"name": "a"}]}}
    assert row(found, NOW) == ("shop", "web", "0/1", "Pending", "0", "-", "-", "api", "-", "u")
    assert source(found) == "api"


@pytest.mark.parametrize(
    ("time", "wanted"),
    [(None, "-"), ("2027-01-15T08:00:00Z", "0s"), ("2027-01-15T08:00:09Z", "0s"), ("2027-01-15T07:59:51Z", "9s"),
     ("2027-01-15T07:59:51.5Z", "8s"), ("2027-01-13T06:00:00Z", "2d2h")],
)  # fmt: skip
def test_an_age_is_in_whole_seconds_and_never_negative(time: str | None, wanted: str) -> None:
    assert age(time, NOW) == wanted


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (9.9, "9s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (769, "12m"),
        (10799, "179m"),
        (3 * 3600 + 300, "3h5m"),
        (8 * 3600 + 300, "8h"),
        (47 * 3600, "47h"),
        (3 * 86400 + 4 * 3600, "3d4h"),
        (90 * 86400 + 4 * 3600, "90d"),
        (760 * 86400, "2y30d"),
        (8 * 365 * 86400 + 86400, "8y"),
    ],
)
def test_ages_are_those_of_kubectl(seconds: float, text: str) -> None:
    assert whole_seconds(seconds) == text
