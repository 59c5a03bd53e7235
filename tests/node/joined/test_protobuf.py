"""A node whose agent speaks protobuf with the API server: the same life, in the other form."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.api.media_types import PROTOBUF
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, container, joined, pod
from tests.support.runtime import RealRuntime
from tests.support.waiting import wait_for

BASE = "/api/v1/namespaces/default"
WAITS = "trap 'exit 0' TERM; echo $COLOUR; while :; do sleep 0.1; done"
_numbers = itertools.count()


@pytest.fixture
def site(real_runtime: RealRuntime) -> Iterator[Joined]:
    with joined(real_runtime, f"protobuf{next(_numbers)}", contentType=PROTOBUF) as found:
        yield found


def test_pods_run_and_end_over_protobuf(site: Joined) -> None:
    site.api.call("POST", f"{BASE}/configmaps", {"metadata": {"name": "settings"}, "data": {"COLOUR": "blue"}})
    from_all = [{"configMapRef": {"name": "settings"}}]
    web = container("main", "sh", "-c", WAITS, envFrom=from_all)
    site.create(pod("web", web, terminationGracePeriodSeconds=1))
    site.node.write("fixed", json.dumps(pod("fixed", container("main", "sh", "-c", WAITS))))
    site.wait_pods_ready("web", f"fixed-{NODE}")
    wait_for(lambda: site.kubectl("logs", "web") == "blue\n")
    assert site.kubectl("exec", "web", "--", "ls", "/var/run/secrets/kubernetes.io/serviceaccount").split()
    events = site.kubectl("get", "events", "--field-selector=involvedObject.name=web", "-o=name").split()
    assert events
    ids = site.running_ids()
    site.node.stop()
    site.node.start()
    site.node.wait_whole()
    assert site.running_ids() == ids
    site.delete("web")
    Path(site.node.manifests, "fixed.yaml").unlink()
    site.wait_no_pod("web", f"fixed-{NODE}")
    if isinstance(site.cluster, ApiProcess):
        _check_forms(site.cluster)


def _check_forms(server: ApiProcess) -> None:
    """Every object that the agent wrote, but patches, and every collection that it followed, was in protobuf."""
    own = [one for one in server.order("GET", "requests") if one["user"] == f"system:node:{NODE}" and one["resource"]]
    written = {(one["resource"], one["headers"]["content-type"]) for one in own if one["method"] in ("POST", "PUT")}
    assert {name for name, _ in written} >= {"nodes", "pods", "events", "leases", "serviceaccounts/token"}
    assert {form for _, form in written} == {PROTOBUF}
    accepted = {(one["resource"], one["headers"]["accept"]) for one in own}
    assert {name for name, form in accepted if not form.startswith(PROTOBUF)} == set()
    assert not {406, 415} & {one["status"] for one in own}
