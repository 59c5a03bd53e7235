"""Marks of instances of containers, for the worker's next incarnation."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from actors.pod_workers.executor import instance_marks
from actors.pod_workers.pod.orders import ProbeDecided
from actors.pod_workers.pod.results import PreStopStarted
from actors.pod_workers.pod.starts import PostStartStarted
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW
from actors.shared.kube.pod import PodStatus

POD = decode_pod(
    b'{"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "a", "image": "i", "startupProbe": {},'
    b' "lifecycle": {"postStart": {"sleep": {"seconds": 1}}, "preStop": {"sleep": {"seconds": 1}}}}]}}'
)
RAN = CriContainer(id="c", name="a", pod_uid="u", state=CriContainerState.RUNNING, attempt=3)
RUNTIME = PodRuntime(uid="u", containers=[RAN])


class Logs:
    log = logging.getLogger("test")


ACTOR: Any = Logs()


def test_a_new_instance_has_no_marks_of_another_with_the_same_count(tmp_path: Path) -> None:
    pod_dir, container = str(tmp_path), POD.spec.containers[0]
    instance_marks.startup_passed(ACTOR, RAN, pod_dir)
    instance_marks.pre_stop_ended(ACTOR, RAN, pod_dir)
    assert list(instance_marks.found(POD, RUNTIME, pod_dir)) == [
        ProbeDecided("c", "startup", True),
        PreStopStarted("c"),
    ]
    instance_marks.prepare(ACTOR, container, pod_dir, 3)
    assert list(instance_marks.found(POD, RUNTIME, pod_dir)) == [PostStartStarted("c")]
    instance_marks.post_start_ended(ACTOR, container, pod_dir, 3)
    assert list(instance_marks.found(POD, RUNTIME, pod_dir)) == []


def test_marks_do_not_add_up_over_restarts(tmp_path: Path) -> None:
    pod_dir, container = str(tmp_path), POD.spec.containers[0]
    for count in range(3):
        ran = replace(RAN, attempt=count)
        instance_marks.prepare(ACTOR, container, pod_dir, count)
        instance_marks.startup_passed(ACTOR, ran, pod_dir)
        instance_marks.pre_stop_ended(ACTOR, ran, pod_dir)
    assert {mark.name for mark in (tmp_path / "containers/a").iterdir()} == {
        "00000002.post-start-due", "00000002.startup-passed", "00000002.pre-stop-ended"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "annotations", "passed"),
    [
        ({"containerID": "containerd://c", "started": True}, {}, True),
        ({"containerID": "containerd://c", "started": False}, {}, False),
        ({"containerID": "containerd://an-older-c", "started": True}, {}, False),
        ({"containerID": "containerd://c", "started": True}, {CONTAINER_RESTARTS_IN_A_ROW: "0"}, False),
    ],
)
def test_a_startup_probe_that_passed_under_another_agent_does_not_run_again(
    tmp_path: Path, status: dict[str, Any], annotations: dict[str, str], passed: bool
) -> None:
    one = {"name": "a", "state": {}, "lastState": {}, "ready": True, "restartCount": 3, "image": "", "imageID": ""}
    pod = replace(POD, status=msgspec.convert({"containerStatuses": [{**one, **status}]}, PodStatus))
    runtime = PodRuntime(uid="u", containers=[replace(RAN, annotations=annotations)])
    events = list(instance_marks.found(pod, runtime, str(tmp_path)))
    assert events == ([ProbeDecided("c", "startup", True)] if passed else [])


def test_an_unwritable_mark_delays_nothing(tmp_path: Path) -> None:
    (tmp_path / "containers").write_text("no directory")
    instance_marks.prepare(ACTOR, POD.spec.containers[0], str(tmp_path), 3)
    instance_marks.pre_stop_ended(ACTOR, RAN, str(tmp_path))
    assert list(instance_marks.found(POD, RUNTIME, str(tmp_path))) == []
