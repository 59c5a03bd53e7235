"""What the controllers of a cluster make of a node: only a real cluster has them."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.node.joined.test_pod_features import within
from tests.support.joined import KUBECONFIG, NODE, Joined, container

pytestmark = pytest.mark.skipif(
    KUBECONFIG not in os.environ, reason=f"NOT TESTED: controllers are those of a real cluster, named by {KUBECONFIG}"
)
SECONDS = 90.0
HERE = {"kubernetes.io/hostname": NODE}


def template(app: str, *command: str, **spec: Any) -> dict[str, Any]:
    whole = {
        "containers": [container("main", *command)],
        "terminationGracePeriodSeconds": 2,
        "nodeSelector": HERE,
        **spec,
    }
    return {"metadata": {"labels": {"app": app}}, "spec": whole}


def make(site: Joined, group: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    path = f"/apis/{group}/namespaces/default/{kind.lower()}s"
    site.api.call("POST", path, {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec})


def selecting(app: str, **more: Any) -> dict[str, Any]:
    return {"selector": {"matchLabels": {"app": app}}, "template": template(app), **more}


def pods(site: Joined, app: str) -> list[dict[str, Any]]:
    return [one for one in site.pods.now.values() if one["metadata"].get("labels", {}).get("app") == app]


def test_a_rollout_replaces_every_pod_and_the_node_refuses_none(site: Joined) -> None:
    make(site, "apps/v1", "Deployment", "web", selecting("web", replicas=5))
    site.kubectl("rollout", "status", "deployment/web", "--timeout=80s", seconds=SECONDS)
    before = {one["metadata"]["uid"] for one in pods(site, "web")}
    site.kubectl("set", "env", "deployment/web", "VERSION=2")
    site.kubectl("rollout", "status", "deployment/web", "--timeout=80s", seconds=SECONDS)
    within(SECONDS, lambda: len(pods(site, "web")) == 5, "the old pods gone")
    assert not before & {one["metadata"]["uid"] for one in pods(site, "web")}
    assert not [one for one in site.pods.events if one.obj.get("status", {}).get("phase") == "Failed"]
    site.kubectl("delete", "deployment", "web")


def test_a_job_completes_or_fails(site: Joined) -> None:
    well, badly = (template(name, name, restartPolicy="Never") for name in ("true", "false"))
    make(site, "batch/v1", "Job", "well", {"completions": 3, "parallelism": 3, "template": well})
    make(site, "batch/v1", "Job", "badly", {"backoffLimit": 0, "template": badly})
    site.kubectl("wait", "job/well", "--for=condition=Complete", "--timeout=80s", seconds=SECONDS)
    site.kubectl("wait", "job/badly", "--for=condition=Failed", "--timeout=80s", seconds=SECONDS)
    site.kubectl("delete", "job", "well", "badly")


def test_pods_of_a_stateful_set_come_one_after_the_other_by_their_names(site: Joined) -> None:
    make(site, "apps/v1", "StatefulSet", "set", selecting("set", replicas=2, serviceName="set"))
    site.kubectl("rollout", "status", "statefulset/set", "--timeout=80s", seconds=SECONDS)
    name = site.kubectl("exec", "set-1", "--", "hostname", "-f").strip()
    assert name == "set-1.set.default.svc.cluster.local"
    first, second = (site.pod(f"set-{number}") for number in range(2))
    assert first["status"]["startTime"] <= second["status"]["startTime"]
    site.kubectl("delete", "statefulset", "set")


def test_a_drained_node_ends_its_pods_by_eviction_and_takes_them_back(site: Joined) -> None:
    make(site, "apps/v1", "Deployment", "moved", selecting("moved", replicas=2))
    site.kubectl("rollout", "status", "deployment/moved", "--timeout=80s", seconds=SECONDS)
    before = {one["metadata"]["name"] for one in pods(site, "moved")}
    site.kubectl("drain", NODE, "--ignore-daemonsets", "--force", "--timeout=80s", seconds=SECONDS)
    within(SECONDS, lambda: not before & {one["metadata"]["name"] for one in pods(site, "moved")}, "evicted")
    site.kubectl("uncordon", NODE)
    site.kubectl("rollout", "status", "deployment/moved", "--timeout=80s", seconds=SECONDS)
    site.kubectl("delete", "deployment", "moved")


def test_a_tainted_node_ends_the_pods_that_do_not_tolerate_it(site: Joined) -> None:
    make(site, "apps/v1", "Deployment", "picky", selecting("picky", replicas=1))
    site.kubectl("rollout", "status", "deployment/picky", "--timeout=80s", seconds=SECONDS)
    (before,) = pods(site, "picky")
    site.kubectl("taint", "node", NODE, "test=gone:NoExecute")
    within(SECONDS, lambda: site.pod(before["metadata"]["name"]) == {}, "the pod gone")
    site.kubectl("taint", "node", NODE, "test-")
    site.kubectl("delete", "deployment", "picky")


def test_the_server_accepted_every_status_that_the_node_wrote(site: Joined) -> None:
    """The server judges each write; what it refuses is told in the agent's log."""
    words = site.node.log.read_text(errors="replace")
    assert "is invalid: status" not in words, json.dumps([line for line in words.splitlines() if "is invalid" in line])
