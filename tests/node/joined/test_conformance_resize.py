"""Resizes in place, as the conformance suite asks for them (pod_resize.go)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.api.errors import Forbidden
from tests.node.joined.test_contents import run
from tests.node.joined.test_pod_features import events, gone, within
from tests.support.api_connection import Obj
from tests.support.joined import PODS, STRATEGIC, Joined, condition, container, pod, status

SECONDS = 60.0
MIB = 1 << 20
READ_LIMIT = "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]


def amounts(cpu: str, memory: str) -> Obj:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def resize(site: Joined, name: str, resources: Obj) -> None:
    patch = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    site.api.call("PATCH", f"{PODS}/{name}/resize", patch, STRATEGIC)


def resize_and_wait(site: Joined, name: str, resources: Obj) -> None:
    resize(site, name, resources)
    site.pods.until(lambda: has(site, name, resources), f"{name} resized", SECONDS)


def main(site: Joined, name: str) -> Obj:
    return next(iter(status(site.pod(name)).get("containerStatuses") or [{}]))


def has(site: Joined, name: str, resources: Obj) -> bool:
    """Its status says so, and that nothing is left to do."""
    found = main(site, name)
    done = not any(condition(site.pod(name), kind) for kind in ("PodResizePending", "PodResizeInProgress"))
    asked = site.pod(name)["metadata"]["generation"] == status(site.pod(name)).get("observedGeneration")
    return done and asked and (found.get("resources"), found.get("allocatedResources")) == (
        resources, resources["requests"]
    )  # fmt: skip


@pytest.fixture(scope="module")
def grown(site: Joined) -> Iterator[Joined]:
    site.create(pod("grown", container("main", resources=amounts("50m", "32Mi"))),
                pod("renewed", container("main", resources=amounts("50m", "32Mi"), resizePolicy=RESTART)))  # fmt: skip
    site.wait_pods_ready("grown", "renewed", seconds=SECONDS)
    yield site
    site.clear()


def limit_of_pod(site: Joined, name: str) -> set[int]:
    uid = site.pod(name)["metadata"]["uid"]
    files = {"memory.max", "memory.limit_in_bytes"}
    # unlike glob, walk passes over the cgroups of others that go away meanwhile
    tops = ((top, files & set(names)) for top, _, names in os.walk("/sys/fs/cgroup") if top.endswith(f"pod{uid}"))
    return {int(Path(top, file).read_text()) for top, found in tops for file in found}


def wait_for_limit_of_pod(site: Joined, name: str, limit: int) -> None:
    within(SECONDS, lambda: limit_of_pod(site, name) == {limit}, "limit of the pod")


def test_a_container_grows_and_shrinks_without_a_restart(grown: Joined) -> None:
    container_id = main(grown, "grown")["containerID"]
    assert has(grown, "grown", amounts("50m", "32Mi"))
    for cpu, mebibytes in (("100m", 64), ("60m", 48)):
        resize_and_wait(grown, "grown", amounts(cpu, f"{mebibytes}Mi"))
        assert int(run(grown, "grown", "sh", "-c", READ_LIMIT)) == mebibytes * MIB
        wait_for_limit_of_pod(grown, "grown", mebibytes * MIB)
    assert (main(grown, "grown")["containerID"], main(grown, "grown")["restartCount"]) == (container_id, 0)
    within(SECONDS, lambda: {"ResizeStarted", "ResizeCompleted"} <= set(dict(events(grown, "grown"))), "events")


def test_a_resize_restarts_a_container_if_its_policy_requires_it(grown: Joined) -> None:
    resize_and_wait(grown, "renewed", amounts("70m", "32Mi"))
    assert main(grown, "renewed")["restartCount"] == 0
    resize(grown, "renewed", amounts("70m", "40Mi"))
    grown.pods.until(
        lambda: has(grown, "renewed", amounts("70m", "40Mi")) and main(grown, "renewed")["restartCount"] == 1,
        "resized by a restart", SECONDS,
    )  # fmt: skip
    grown.wait_pods_ready("renewed", seconds=SECONDS)
    assert int(run(grown, "renewed", "sh", "-c", READ_LIMIT)) == 40 * MIB


def test_an_infeasible_resize_still_waits_after_a_restart_of_the_agent(grown: Joined) -> None:
    before = main(grown, "grown")
    try:
        resize(grown, "grown", amounts("500", "48Mi"))
    except Forbidden:
        pytest.skip("NOT TESTED: this API server does not accept what no node of its can give")

    def refused() -> bool:
        return condition(grown.pod("grown"), "PodResizePending").get("reason") == "Deferred"

    grown.pods.until(refused, "Deferred", SECONDS)
    text = condition(grown.pod("grown"), "PodResizePending")["message"]
    assert text.startswith("Node didn't have enough resource: cpu, requested: 500000, used: ")
    grown.node.stop()
    grown.node.start()
    grown.wait_ready()
    grown.api.merge(f"{PODS}/grown", {"metadata": {"labels": {"told": "again"}}})
    grown.wait_pods_ready("grown", seconds=SECONDS)
    grown.pods.until(refused, "Deferred again", SECONDS)
    after = main(grown, "grown")
    assert [after[key] for key in ("containerID", "resources", "allocatedResources", "restartCount")] == [
        before[key] for key in ("containerID", "resources", "allocatedResources", "restartCount")
    ]
    resize_and_wait(grown, "grown", amounts("55m", "48Mi"))


def test_a_resize_waits_for_resources_that_other_pods_have(grown: Joined) -> None:
    node = next(iter(grown.nodes.now.values()))
    whole = int(node["status"]["allocatable"]["cpu"].removesuffix("m")) * (
        1 if node["status"]["allocatable"]["cpu"].endswith("m") else 1000
    )
    grown.create(pod("hog", container("main", resources={"requests": {"cpu": f"{whole - 300}m"}})))
    grown.wait_pods_ready("hog", seconds=SECONDS)
    before = main(grown, "grown")["allocatedResources"]["cpu"]
    resize(grown, "grown", amounts(f"{whole - 200}m", "48Mi"))
    grown.pods.until(
        lambda: condition(grown.pod("grown"), "PodResizePending").get("reason") == "Deferred", "Deferred", SECONDS
    )
    assert main(grown, "grown")["allocatedResources"]["cpu"] == before
    gone(grown, "hog")
    grown.pods.until(lambda: has(grown, "grown", amounts(f"{whole - 200}m", "48Mi")), "resized at last", SECONDS)


def test_memory_in_use_is_not_taken_away_and_the_pod_keeps_running(grown: Joined) -> None:
    fill = "head -c 24000000 /dev/zero > /m/full; trap 'exit 0' TERM; while :; do sleep 0.2; done"
    memory = {"volumes": [{"name": "m", "emptyDir": {"medium": "Memory"}}]}
    mounts = [{"name": "m", "mountPath": "/m"}]
    full = container("main", "sh", "-c", fill, volumeMounts=mounts, resources=amounts("50m", "48Mi"))
    other = container("other", "sh", "-c", "sleep 2; exit 1")
    grown.create(pod("full", full, other, **memory))
    grown.wait_pods_ready("full", seconds=SECONDS)
    within(SECONDS, lambda: run(grown, "full", "sh", "-c", "wc -c /m/*").startswith("24000000"), "whole file")
    resize(grown, "full", amounts("50m", "16Mi"))

    def failed() -> bool:
        return condition(grown.pod("full"), "PodResizeInProgress").get("reason") == "Error"

    grown.pods.until(failed, "PodResizeInProgress Error", SECONDS)
    assert main(grown, "full")["resources"] == amounts("50m", "48Mi")
    grown.pods.until(
        lambda: status(grown.pod("full"))["containerStatuses"][1]["restartCount"] >= 1, "the other restarted", SECONDS
    )
    assert main(grown, "full")["restartCount"] == 0
    run(grown, "full", "rm", "/m/full")
    grown.pods.until(lambda: has(grown, "full", amounts("50m", "16Mi")), "resized at last", SECONDS)
