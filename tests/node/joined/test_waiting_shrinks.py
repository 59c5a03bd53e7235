"""A resize to less memory than a container uses waits, and whoever has a part in it is killed meanwhile.

Until the container has shrunk, the pod's own cgroup keeps what the container has: the kernel would refuse less CPU
(cgroup v1), or end processes of the pod for memory (v2).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.node.joined.test_conformance_resize import MIB, amounts, has, limit_of_pod, main, resize
from tests.node.joined.test_contents import run
from tests.node.joined.test_pod_features import within
from tests.support.api_connection import Obj
from tests.support.joined import Joined, condition, container, joined, pod
from tests.support.runtime import RealRuntime

SECONDS = 90.0
NAME = "full"
BEFORE, AFTER = amounts("400m", "48Mi"), amounts("100m", "16Mi")
FILL: Final = "head -c 24000000 /dev/zero > /m/full; trap 'exit 0' TERM; while :; do sleep 0.2; done"


def kill_agent(site: Joined) -> None:
    site.node.kill_fork_server()
    site.node.start()
    site.wait_ready()


def kill_workers(site: Joined) -> None:
    site.node.kill_workers()


def kill_manager(site: Joined) -> None:
    with suppress(ProcessLookupError):
        os.kill(site.node.actors()["container_manager"].pid, signal.SIGKILL)


VICTIMS: Final[dict[str, Callable[[Joined], None]]] = {
    "agent": kill_agent, "worker": kill_workers, "container_manager": kill_manager,
}  # fmt: skip


@pytest.fixture(scope="module")
def waiting(session_runtime: RealRuntime) -> Iterator[Joined]:
    """A node with a pod whose shrink waits for its memory."""
    with joined(session_runtime, "shrinks") as site:
        mounts = [{"name": "m", "mountPath": "/m"}]
        full = container("main", "sh", "-c", FILL, volumeMounts=mounts, resources=BEFORE)
        site.create(pod(NAME, full, volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}]))
        site.wait_pods_ready(NAME, seconds=SECONDS)
        within(SECONDS, lambda: run(site, NAME, "sh", "-c", "wc -c /m/*").startswith("24000000"), "whole file")
        resize(site, NAME, AFTER)
        site.pods.until(lambda: _progress(site).get("reason") == "Error", "PodResizeInProgress Error", SECONDS)
        yield site


def _progress(site: Joined) -> Obj:
    return condition(site.pod(NAME), "PodResizeInProgress")


def _cpu_of_pod(site: Joined) -> set[float]:
    """Cores that the pod's own cgroup may use."""
    uid = site.pod(NAME)["metadata"]["uid"]
    found = set()
    for top, _, files in os.walk("/sys/fs/cgroup"):
        if not top.endswith(f"pod{uid}"):
            continue
        if "cpu.max" in files:
            quota, period = Path(top, "cpu.max").read_text().split()
            found.add(int(quota) / int(period))
        if "cpu.cfs_quota_us" in files:
            found.add(int(Path(top, "cpu.cfs_quota_us").read_text()) / int(Path(top, "cpu.cfs_period_us").read_text()))
    return found


def _tries(site: Joined) -> int:
    """How often the shrink was tried."""
    listed = site.api.call("GET", "/api/v1/namespaces/default/events")["items"]
    return sum(int(one.get("count") or 1) for one in listed if one["reason"] == "ResizeError")


def _uses_more(site: Joined, name: str) -> bool:
    """Only a reason with another number is told again. False: the node's server is not back yet."""
    command = f"head -c 200000 /dev/zero > /m/{name}"
    return site.cluster.run_kubectl("exec", NAME, "--", "sh", "-c", command).returncode == 0


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_pod_keeps_its_limits_while_its_shrink_waits_and_anybody_is_killed(waiting: Joined, victim: str) -> None:
    begun, before = main(waiting, NAME), _tries(waiting)
    VICTIMS[victim](waiting)
    within(SECONDS, lambda: _uses_more(waiting, victim), "a little more memory in use")
    within(SECONDS, lambda: _tries(waiting) > before, "another try")
    assert _progress(waiting)["reason"] == "Error"
    assert (limit_of_pod(waiting, NAME), _cpu_of_pod(waiting)) == ({48 * MIB}, {0.4})
    now = main(waiting, NAME)
    assert [now[key] for key in ("containerID", "restartCount", "resources")] == [begun["containerID"], 0, BEFORE]


def test_the_shrink_ends_once_the_memory_is_free(waiting: Joined) -> None:
    run(waiting, NAME, "sh", "-c", "rm /m/*")
    waiting.pods.until(lambda: has(waiting, NAME, AFTER), "resized at last", SECONDS)
    within(SECONDS, lambda: limit_of_pod(waiting, NAME) == {16 * MIB}, "less memory for the pod")
    within(SECONDS, lambda: _cpu_of_pod(waiting) == {0.1}, "less CPU for the pod")
    assert main(waiting, NAME)["restartCount"] == 0
