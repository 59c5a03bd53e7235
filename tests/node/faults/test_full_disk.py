"""The disk of a managed runtime is full while the agent is injured: nothing is lost, doubled or left over."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.shared.cri import shims
from actors.shared.linux import mountinfo
from actors.status_manager.messages import GetPods, Pods
from tests.support.faulty_node import NODE_NAME, FaultyNode
from tests.support.managed import managed_runtime

SIZE = "350m"
BLOCK = b"x" * 512


@pytest.fixture
def node() -> Iterator[FaultyNode]:
    """An agent whose root directory, with its containerd's, is a small file system."""
    with managed_runtime() as runtime:
        agent = FaultyNode(runtime)
        disk = agent.home / "root"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], check=True)
        try:
            agent.start()
            agent.wait_whole()
            yield agent
        finally:
            agent.remove()
            shutil.rmtree(agent.home, ignore_errors=True)


def fill(disk: Path) -> Path:
    """Leave not a byte. The file that takes them."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while shutil.disk_usage(disk).free:  # again, where the agent has given back what it could not finish
            for block in (BLOCK * 2048, BLOCK):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(block)
    return filler


def deny(node: FaultyNode) -> None:
    """Start its containerd again on a full disk, which makes it lose its containers."""
    node.inject("root", "crash")
    node.until(lambda: node.containers() == [], "the runtime denies its containers")
    node.until(lambda: "none is started beside them" in node.log.read_text(), "the agent has seen that they run")


def deny_alone(node: FaultyNode) -> None:
    """Like `deny`, with nobody but containerd killed."""
    node.inject("container_runtime", "crash")
    node.until(lambda: node.containers() == [], "the runtime denies its containers")
    node.until(lambda: "none is started beside them" in node.log.read_text(), "the agent has seen that they run")


def statuses(node: FaultyNode) -> dict[str, dict[str, Any]]:
    """The status of each pod, by the name of its manifest."""
    client = node.client()
    try:
        answer = client.ask(GetPods(), Pods, name="status_manager", timeout=30.0)
    finally:
        client.close()
    return {
        one["metadata"]["name"].removesuffix(f"-{NODE_NAME}"): one["status"] for one in json.loads(answer.data)["items"]
    }


def processes_of(container_id: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"/{container_id}" in (entry / "cgroup").read_text():
                found.append(int(entry.name))
    return found


def until_back(node: FaultyNode, name: str, after: int) -> None:
    def is_back() -> bool:
        tree = node.tree()
        return tree.state == "ready" and any(one.name == name and one.incarnation > after for one in tree.actors)

    node.until(is_back, f"{name} is replaced")


def until_nothing_is_left(node: FaultyNode) -> None:
    instance = node.runtime.instance
    node.until(lambda: not [*shims.running(instance.socket, time.time())], "no shim is left")
    assert not [
        mount for mount in mountinfo.read() if mount.point.endswith("/rootfs") and instance.state in mount.point
    ]


def remove(node: FaultyNode, *names: str) -> None:
    for name in names:
        (node.manifests / f"{name}.yaml").unlink()


def test_containers_lost_by_the_runtime_on_a_full_disk_are_neither_doubled_nor_left_over(
    node: FaultyNode,
) -> None:
    node.add("a", "b")
    node.wait_running("a", "b")
    before = node.running()
    filler = fill(node.home / "root")
    deny(node)
    filler.unlink()
    node.until(lambda: node.running() == before, "the same containers are listed again")
    assert len(node.containers()) == len(before)
    remove(node, "a", "b")
    node.wait_gone("a", "b")
    until_nothing_is_left(node)


def test_a_container_that_only_containerd_has_lost_is_shown_as_running_until_its_processes_end(
    node: FaultyNode,
) -> None:
    node.add("a", "b")
    node.wait_running("a", "b")
    ids = {name: container_id for name, (container_id, _) in node.running().items()}
    node.until(lambda: [one["phase"] for one in statuses(node).values()] == ["Running"] * 2, "the pods are told of")
    before = statuses(node)
    filler = fill(node.home / "root")
    deny_alone(node)
    assert statuses(node) == before
    for pid in processes_of(ids["b"]):
        with contextlib.suppress(ProcessLookupError):  # the others end with the first
            os.kill(pid, signal.SIGKILL)

    def lost() -> dict[str, Any]:
        [container] = statuses(node)["b"]["containerStatuses"]
        return dict(container)

    node.until(lambda: lost()["restartCount"] == 1, "the container that has ended is lost")
    assert lost()["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert statuses(node)["a"] == before["a"]
    filler.unlink()
    node.wait_running("a", "b")
    assert node.running()["a"] == (ids["a"], 0)
    assert statuses(node)["a"] == before["a"]
    assert node.doubles() == []


def test_pods_that_are_removed_while_the_runtime_has_lost_them_leave_nothing_and_can_come_back(
    node: FaultyNode,
) -> None:
    node.add("a", "b")
    node.wait_running("a", "b")
    filler = fill(node.home / "root")
    deny(node)
    remove(node, "a", "b")
    node.until(lambda: "they are killed with the pod's cgroup" in node.log.read_text(), "they end without the runtime")
    filler.unlink()
    until_nothing_is_left(node)
    node.add("a", "b")
    node.wait_running("a", "b")


def test_on_a_full_disk_an_agent_starts_pods_wait_and_each_fault_has_its_incident_afterwards(
    node: FaultyNode,
) -> None:
    node.add("a", "b")
    node.wait_running("a", "b")
    before = node.running()
    filler = fill(node.home / "root")
    node.kill_fork_server_and_start()
    node.add("c")
    node.until(lambda: "none is started beside them" in node.log.read_text(), "the agent has seen that they run")
    injured = ["container_runtime", "pleg", "image_manager", "volume_manager", "pod_workers/worker/0", "root"]
    for name in injured:
        after = node.actors()[name].incarnation
        node.inject(name, "crash")
        until_back(node, name, after)
    assert len(node.incidents()) < len(injured), "not every record can be written"
    filler.unlink()
    node.wait_running("a", "b", "c")
    assert before.items() <= node.running().items()
    assert node.doubles() == []
    node.until(lambda: len(node.incidents()) >= len(injured), "each fault is told")
    assert sorted((one.actor, one.cause) for one in node.incidents()) == sorted((name, "signal") for name in injured)
    node.until(lambda: not node.strays(), "no process but those of the tree")
