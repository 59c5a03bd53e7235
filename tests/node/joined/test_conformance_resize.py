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
    resize_spec(site, name, {"containers": [{"name": "main", "resources": resources}]})


def resize_spec(site: Joined, name: str, spec: Obj) -> None:
    site.api.call("PATCH", f"{PODS}/{name}/resize", {"spec": spec}, STRATEGIC)


def resize_and_wait(site: Joined, name: str, resources: Obj) -> None:
    resize(site, name, resources)
    site.pods.until(lambda: has(site, name, resources), f"{name} resized", SECONDS)


def run_in(site: Joined, name: str, container_name: str, *command: str) -> str:
    return site.kubectl("exec", name, "-c", container_name, "--", *command)


def main(site: Joined, name: str) -> Obj:
    return next(iter(status(site.pod(name)).get("containerStatuses") or [{}]))


def has(site: Joined, name: str, resources: Obj) -> bool:
    """Its status says so, and that nothing is left to do."""
    found = main(site, name)
    return is_done(site, name) and (found.get("resources"), found.get("allocatedResources")) == (
        resources, resources["requests"]
    )  # fmt: skip


def is_done(site: Joined, name: str) -> bool:
    waits = any(condition(site.pod(name), kind) for kind in ("PodResizePending", "PodResizeInProgress"))
    return not waits and site.pod(name)["metadata"]["generation"] == status(site.pod(name)).get("observedGeneration")


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


def test_an_init_container_that_runs_and_a_sidecar_are_resized(grown: Joined) -> None:
    first = container("first", "sh", "-c", "until [ -e /go ]; do sleep 0.1; done", resources=amounts("50m", "32Mi"))
    sidecar = container("car", restartPolicy="Always", resources=amounts("50m", "32Mi"))
    kept = container("main", resources=amounts("50m", "32Mi"))
    grown.create(pod("steps", kept, initContainers=[first, sidecar]))

    more = amounts("70m", "48Mi")
    for number, name in enumerate(("first", "car")):
        _resize_init_container(grown, "steps", number, name, more)
        assert int(run_in(grown, "steps", name, "sh", "-c", READ_LIMIT)) == 48 * MIB
        run_in(grown, "steps", name, "touch", "/go")
    grown.wait_pods_ready("steps", seconds=SECONDS)
    wait_for_limit_of_pod(grown, "steps", 80 * MIB)
    gone(grown, "steps")


def test_the_resources_of_a_pod_are_resized_with_its_containers_that_have_none(grown: Joined) -> None:
    own = container("own", resources=amounts("50m", "32Mi"))
    grown.create(pod("whole", container("main"), own, resources=amounts("100m", "64Mi")))
    grown.wait_pods_ready("whole", seconds=SECONDS)
    for cpu, mebibytes in (("200m", 128), ("100m", 80)):
        more = amounts(cpu, f"{mebibytes}Mi")
        resize_spec(grown, "whole", {"resources": more})
        _wait_whole(grown, "whole", more)
        wait_for_limit_of_pod(grown, "whole", mebibytes * MIB)
        assert int(run(grown, "whole", "sh", "-c", READ_LIMIT)) == mebibytes * MIB
        assert int(run_in(grown, "whole", "own", "sh", "-c", READ_LIMIT)) == 32 * MIB
    assert main(grown, "whole")["restartCount"] == 0
    gone(grown, "whole")


def _resize_init_container(site: Joined, name: str, number: int, of: str, more: Obj) -> None:
    def seen() -> Obj:
        found: Obj = (status(site.pod(name)).get("initContainerStatuses") or [{}, {}])[number]
        return found

    site.pods.until(lambda: "running" in seen().get("state", {}), f"{of} runs", SECONDS)
    resize_spec(site, name, {"initContainers": [{"name": of, "resources": more}]})
    site.pods.until(lambda: is_done(site, name) and seen().get("resources") == more, f"{of} resized", SECONDS)
    assert seen()["restartCount"] == 0


def _wait_whole(site: Joined, name: str, resources: Obj) -> None:
    site.pods.until(
        lambda: is_done(site, name) and status(site.pod(name)).get("resources") == resources, "the pod resized", SECONDS
    )


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
