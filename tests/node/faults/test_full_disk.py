"""The disk of a managed runtime is full while the agent is injured: nothing is lost, doubled or left over."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime import leaked_shims
from actors.shared.linux import mountinfo
from tests.support.faulty_node import FaultyNode
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
        for block in (BLOCK * 2048, BLOCK):
            with contextlib.suppress(OSError):
                while True:
                    file.write(block)
    assert shutil.disk_usage(disk).free == 0
    return filler


def test_containers_that_the_runtime_has_lost_on_a_full_disk_are_neither_doubled_nor_left_over(
    node: FaultyNode,
) -> None:
    node.add("a", "b")
    node.wait_running("a", "b")
    before = node.running()
    filler = fill(node.home / "root")
    node.inject("root", "crash")
    node.until(lambda: node.containers() == [], "the runtime denies its containers")
    node.until(lambda: "none is started beside them" in node.log.read_text(), "the agent has seen that they run")
    filler.unlink()
    node.until(lambda: node.running() == before, "the same containers are listed again")
    assert len(node.containers()) == len(before)
    for name in before:
        (node.manifests / f"{name}.yaml").unlink()
    node.wait_gone("a", "b")
    instance = node.runtime.instance
    node.until(lambda: not [*leaked_shims.running(instance.socket, time.time())], "no shim is left")
    assert not [
        mount for mount in mountinfo.read() if mount.point.endswith("/rootfs") and instance.state in mount.point
    ]
