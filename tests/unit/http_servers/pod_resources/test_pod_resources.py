"""What is said of pods to monitors of the node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.http_servers.pod_resources.pods import PodInUse, find, pods_in_use


def pod(name: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n", **spec}
    return {"metadata": {"name": name, "namespace": "d", "uid": "u"}, "spec": spec, "status": {"phase": phase}}


def said(*pods: dict[str, Any], active_only: bool = True) -> list[PodInUse]:
    return pods_in_use(json.dumps({"kind": "PodList", "items": pods}).encode(), active_only=active_only)


def test_sidecars_come_first_and_init_containers_that_end_not_at_all():
    init = [{"name": "once", "image": "i"}, {"name": "sidecar", "image": "i", "restartPolicy": "Always"}]
    assert said(pod("p", initContainers=init)) == [PodInUse("p", "d", ("sidecar", "c"), "u", sidecars=1)]


@pytest.mark.parametrize(
    ("phase", "active"), [("Pending", 1), ("Running", 1), ("Succeeded", 0), ("Failed", 0), ("", 1)]
)
def test_pods_that_have_ended_hold_nothing(phase: str, active: int):
    assert len(said(pod("p", phase))) == active
    assert len(said(pod("p", phase), active_only=False)) == 1


def test_a_pod_is_found_by_namespace_and_name():
    pods = said(pod("a"), pod("b"))
    assert find(pods, "d", "b") == pods[1]
    assert find(pods, "other", "b") is None
