"""Calls to the runtime that fail, are not answered, lose their answer, are answered wrongly or have no effect, or at
which the agent's disk is full, one method after the other, by a proxy in front of a real containerd. Around each fault:

- the containers that run are the same ones, with the same restart counts, and none runs twice;
- a job runs once and is shown as succeeded, a crash loop goes on, another pod becomes ready, and a deleted one ends;
- no actor fails or is replaced, and the node stays Ready;
- no status goes back to an older observation.

At the end nothing is left in the runtime of the pods that came and went."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from actors.shared.cri import shims
from actors.shared.linux import mountinfo
from tests.chaos.invariants import not_ready, regressed_phases
from tests.support.cri_proxy.modes import Mode, Order
from tests.support.cri_proxy.runtime import ProxiedRuntime
from tests.support.joined import Joined, container, joined, pod, status
from tests.support.runtime import RealRuntime

pytestmark = pytest.mark.slow

NAME: Final = "spoiled"
STEADY: Final = ("steady-a", "steady-b")
LOOP: Final = "loop"
SECONDS: Final = 3.0
"""So long a fault lasts."""
PROBE: Final = {"exec": {"command": ["true"]}, "periodSeconds": 1, "failureThreshold": 1000}
NEVER_PRESSED: Final = {
    f"{disk}.{what}": "0%" for disk in ("nodefs", "imagefs") for what in ("available", "inodesFree")
}
"""The node refuses no pod because of the full disk."""


class Case(NamedTuple):
    method: str
    mode: Mode
    code: str = "UNAVAILABLE"


CASES: Final = (
    Case("RunPodSandbox", "held"),
    Case("RunPodSandbox", "cut"),
    Case("CreateContainer", "lost"),
    Case("CreateContainer", "late"),
    Case("StartContainer", "lost"),
    Case("StartContainer", "empty"),
    Case("StopContainer", "error", "NOT_FOUND"),
    Case("StopContainer", "never"),
    Case("StopPodSandbox", "cut"),
    Case("RemovePodSandbox", "empty"),
    Case("PodSandboxStatus", "error", "NOT_FOUND"),
    Case("PodSandboxStatus", "large"),
    Case("ContainerStatus", "error", "NOT_FOUND"),
    Case("ContainerStatus", "negative"),
    Case("ListPodSandbox", "empty"),
    Case("ListContainers", "never"),
    Case("ImageStatus", "error", "INTERNAL"),
    Case("ExecSync", "error", "NOT_FOUND"),
    Case("Status", "never"),
    *(Case(method, "full") for method in ("RunPodSandbox", "StartContainer", "StopContainer")),
)
"""One of each kind for each method that changes something or by which something is decided."""


class Spoiled:
    """A node whose calls to the runtime are spoiled, while pods come and go."""

    def __init__(self, runtime: ProxiedRuntime, site: Joined) -> None:
        self._runtime, self.site, self._numbers = runtime, site, itertools.count()
        self._old = self._next()
        site.create(pod(self._old))

    def _next(self) -> str:
        return f"pod-{next(self._numbers)}"

    def hold(self, case: Case) -> None:
        site, node = self.site, self.site.node
        site.wait_pods_ready(self._old, *STEADY)
        steady, actors, known = steady_of(site), incarnations(site), len(node.incidents())
        pods, nodes, loops = len(site.pods.events), len(site.nodes.events), site.restarts()[f"default/{LOOP}"]
        old, new, job = self._old, self._next(), self._next()
        filler = self.site.node.home / "root" / "filler"
        order = Order(case.method, case.mode, case.code, str(filler))
        self._runtime.order(order)
        site.create(
            pod(new, container("main", readinessProbe=PROBE), initContainers=[container("init", "true")]),
            pod(job, container("main", "true"), restartPolicy="Never"),
        )
        site.delete(old)
        time.sleep(SECONDS)
        node.until(lambda: self._runtime.order(order).met > 0, "a call meets the fault")
        self._runtime.order(Order())
        filler.unlink(missing_ok=True)
        self._old = new
        site.wait_pods_ready(new, *STEADY)
        assert site.wait_phase(job, "Succeeded")
        site.wait_no_pod(old)
        assert steady_of(site) == steady, "neither ended nor counted"
        assert node.doubles() == []
        assert [one.restart_count for one in node.containers() if one.pod_name == job] == [0], "it has run once"
        assert site.restarts()[f"default/{LOOP}"] >= loops
        assert node.incidents()[known:] == []
        assert incarnations(site) == actors
        assert list(not_ready(site.nodes.events[nodes:])) == []
        assert list(regressed_phases(site.pods.events[pods:])) == []
        site.delete(job)
        site.wait_no_pod(job)

    def hold_at_the_end(self) -> None:
        """Nothing is left but of the pods that go on."""
        site, node = self.site, self.site.node
        site.delete(self._old)
        site.delete(LOOP)
        site.wait_no_pod(self._old, LOOP)
        node.wait_gone(*(f"pod-{number}" for number in range(next(self._numbers))), LOOP)
        instance = self._runtime.instance
        node.until(lambda: len([*shims.running(instance.socket, time.time())]) == len(STEADY), "no shim is left")
        mounted = [
            one.point for one in mountinfo.read() if one.point.endswith("/rootfs") and instance.state in one.point
        ]
        assert len(mounted) == 2 * len(STEADY)
        uids = {site.pod(name)["metadata"]["uid"] for name in STEADY}
        node.until(lambda: {trace.removeprefix("pod") for trace in node.traces()} == uids, "no trace is left")


def steady_of(site: Joined) -> dict[str, tuple[str, int]]:
    """Id and restart count at the API of each steady pod's container."""
    ids, counts = site.running_ids(), site.restarts()
    return {name: (ids.get(f"{name}/main", ""), counts[f"default/{name}"]) for name in STEADY}


def incarnations(site: Joined) -> dict[str, int]:
    return {name: actor.incarnation for name, actor in site.node.actors().items()}


@pytest.fixture(scope="module")
def spoiled(session_runtime: RealRuntime) -> Iterator[Spoiled]:
    root = session_runtime.base / NAME / "root"
    root.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(root)], check=True)
    settings = {"runtimeRequestTimeout": "2s", "nodeStatusUpdateFrequency": "1s", "evictionHard": NEVER_PRESSED}
    with ProxiedRuntime(session_runtime).proxied() as runtime, joined(runtime, NAME, **settings) as site:
        site.create(
            *(pod(name, container("main", readinessProbe=PROBE, livenessProbe=PROBE)) for name in STEADY),
            pod(LOOP, container("main", "sh", "-c", "sleep 0.5; exit 3")),
        )
        site.wait_pods_ready(*STEADY)
        site.pods.until(lambda: status(site.pod(LOOP)).get("containerStatuses"), "the loop has begun", 60.0)
        yield Spoiled(runtime, site)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case[: 3 if case.mode == "error" else 2]))
def test_a_spoiled_call_loses_doubles_and_breaks_nothing(spoiled: Spoiled, case: Case) -> None:
    spoiled.hold(case)


def test_nothing_is_left_of_pods_that_came_and_went_through_spoiled_calls(spoiled: Spoiled) -> None:
    spoiled.hold_at_the_end()
