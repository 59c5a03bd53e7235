"""A pod whose containers are all restarted because of one of them (KEP-5532), while the others are down."""

from __future__ import annotations

import pytest

from actors.status_manager.messages import Waiting
from tests.support.pod_statuses import NEVER, look, of, pod_of, ran

_RULE = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
_SIDECAR = {"name": "s", "image": "i", "restartPolicy": "Always", "restartPolicyRules": _RULE}
_INIT = {"name": "i", "image": "i"}
OF_A_SIDECAR = {**NEVER, "initContainers": [_SIDECAR, _INIT]}
ALL = {name: Waiting("RestartingAllContainers") for name in ("s", "i", "a")}


def test_a_container_that_a_sidecar_has_restarted_does_not_count_as_failed():
    pod = pod_of(OF_A_SIDECAR)
    up = look(pod, ran("s", id="s0"), ran("i", code=0, id="i0"), ran(id="a0"))
    stopped = look(pod, ran("s", code=42, id="s0"), ran(code=137, id="a0"), before=up, waiting=ALL)
    removed = look(pod, before=stopped, waiting=ALL)
    for status in (stopped, removed):
        assert status.phase == "Running"
        assert of(status, "Ready")[1] == of(status, "ContainersReady")[1] == "ContainersNotReady"
    assert of(stopped, "AllContainersRestarting") == ("True", "RestartAllContainersStarted")


def test_an_init_container_that_a_sidecar_has_restarted_does_not_count_as_failed():
    pod = pod_of(OF_A_SIDECAR)
    up = look(pod, ran("s", id="s0"), ran("i", id="i0"))
    stopped = look(pod, ran("s", code=42, id="s0"), ran("i", code=137, id="i0"), before=up, waiting=ALL)
    assert (stopped.phase, of(stopped, "Ready")[1]) == ("Pending", "ContainersNotReady")
    assert of(stopped, "AllContainersRestarting") == ("True", "RestartAllContainersStarted")


@pytest.mark.parametrize("name", ["i", "a"])
def test_a_container_that_fails_by_itself_ends_the_pod_though_another_could_restart_all(name):
    done = [] if name == "i" else [ran("i", code=0)]
    over = look(pod_of(OF_A_SIDECAR), ran("s", code=0), *done, ran(name, code=1), worker_phase="terminated")
    assert over.phase == "Failed"
