"""Which file holds the log that is asked for."""

from __future__ import annotations

import msgspec
import pytest

from actors.http_servers.container_logs.log_file import find_log
from actors.http_servers.serving.http_error import HttpError
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import PodStatus

SPEC = {"containers": [{"name": "c", "image": "i"}]}
POD = decode_pod(
    msgspec.json.encode({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": SPEC}),
)
RUNS: object
WAITS: object
RUNS, WAITS = {"running": {}}, {"waiting": {"reason": "CrashLoopBackOff"}}


def ended(container_id: str) -> dict[str, object]:
    return {"terminated": {"exitCode": 1, "containerID": container_id}}


def status(state: object, last: object, *, restarts: int = 2, newest: str = "x://new") -> PodStatus:
    rest = {"restartCount": restarts, "containerID": newest, "ready": False, "image": "i", "imageID": "i"}
    one = {"name": "c", "state": state, "lastState": last, **rest}
    return msgspec.convert({"containerStatuses": [one]}, PodStatus, strict=False)


@pytest.mark.parametrize(
    ("state", "last", "current", "previous"),
    [
        (RUNS, ended("x://old"), ("x://new", 2), ("x://old", 1)),
        (ended("x://new"), ended("x://old"), ("x://new", 2), ("x://old", 1)),
        (WAITS, ended("x://new"), ("x://new", 2), ("x://new", 2)),
    ],
)
def test_the_previous_log_is_that_of_the_last_end(
    state: object, last: object, current: tuple[str, int], previous: tuple[str, int]
) -> None:
    for wanted, (container_id, count) in ((False, current), (True, previous)):
        found = find_log(POD, status(state, last), "c", previous=wanted)
        assert (found.container_id, found.path) == (container_id, f"n_p_u/c/{count}.log")


def test_without_an_end_there_is_no_previous_log() -> None:
    with pytest.raises(HttpError, match='previous terminated container "c" in pod "p" not found'):
        find_log(POD, status(RUNS, {}), "c", previous=True)


@pytest.mark.parametrize(
    ("state", "container", "text"),
    [
        (WAITS, "c", "is waiting to start: CrashLoopBackOff"),
        ({}, "c", "is waiting to start: no reason given"),
        (RUNS, "absent", 'container "absent" not found in pod "p"'),
    ],
)
def test_a_container_without_a_log_is_refused_with_the_reason(state: object, container: str, text: str) -> None:
    with pytest.raises(HttpError) as refused:
        find_log(POD, status(state, {}), container, previous=False)
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("newest", "text"),
    [
        ("", 'container "c" in pod "p" is terminated'),
        ("x://new", "unable to retrieve container logs for x://new: no such file"),
    ],
)
def test_a_container_that_never_started_is_terminated_rather_than_without_its_file(newest: str, text: str) -> None:
    log = find_log(POD, status(ended(""), {}, newest=newest), "c", previous=False)
    refused = log.unreadable("p", "no such file")
    assert (refused.status, str(refused)) == (400, text)
