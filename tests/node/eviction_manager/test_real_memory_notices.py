"""Notices of the real kernel, in cgroups of the test's own."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from collections.abc import Iterator

import pytest

from actors.eviction_manager.memory_notices import MemoryNotices
from actors.eviction_manager.resources import ALLOCATABLE_MEMORY
from actors.eviction_manager.thresholds import SignalObservation
from actors.shared.config.fields.eviction import Amount, Threshold
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree, find
from tests.support.waiting import wait_for

MIB = 1 << 20
HALF = Threshold(ALLOCATABLE_MEMORY, Amount(absolute=50 * MIB))
EATER = "import time; kept = bytearray(80 << 20); time.sleep(60)"


@pytest.fixture
def cgroup() -> Iterator[tuple[CgroupTree, str]]:
    tree, path = find(), f"/troupelet-test-notices-{os.getpid()}"
    tree.create(path)
    yield tree, path
    tree.kill(path)
    wait_for(lambda: not tree.remove(path))


async def test_the_kernel_reports_that_a_cgroup_has_reached_a_threshold(cgroup: tuple[CgroupTree, str]) -> None:
    tree, path = cgroup
    if tree.version != 1:
        pytest.skip("NOT TESTED: a host with cgroups v2 has no such notices")
    told = asyncio.Event()
    notices = MemoryNotices(tree, told.set, logging.getLogger("notices"), notifies=True)
    notices.arm([HALF], {ALLOCATABLE_MEMORY: SignalObservation(100 * MIB, 100 * MIB)}, path)
    notices.arm(
        [HALF], {ALLOCATABLE_MEMORY: SignalObservation(100 * MIB, 100 * MIB)}, path
    )  # again, as each round does
    await asyncio.sleep(0)
    assert not told.is_set()
    eater = subprocess.Popen(["python3", "-c", EATER], preexec_fn=lambda: tree.enter(path, os.getpid()))
    try:
        await asyncio.wait_for(told.wait(), 20.0)
    finally:
        eater.kill()
        eater.wait()


async def test_the_kernel_takes_the_trigger_on_stalls_for_memory(caplog: pytest.LogCaptureFixture) -> None:
    if not os.path.exists("/proc/pressure/memory"):
        pytest.skip("NOT TESTED: this kernel has no pressure stall information")
    unified = CgroupTree((Hierarchy("/nowhere", frozenset({"memory"}), unified=True),))
    before = len(os.listdir("/proc/self/fd"))
    with caplog.at_level(logging.INFO):
        MemoryNotices(unified, lambda: None, logging.getLogger("notices"), notifies=False).start()
    assert caplog.messages == []
    assert len(os.listdir("/proc/self/fd")) == before + 2


async def test_no_notice_is_requested_without_the_setting(cgroup: tuple[CgroupTree, str]) -> None:
    tree, path = cgroup
    before = len(os.listdir("/proc/self/fd"))
    notices = MemoryNotices(tree, lambda: None, logging.getLogger("notices"), notifies=False)
    notices.arm([HALF], {ALLOCATABLE_MEMORY: SignalObservation(100 * MIB, 100 * MIB)}, path)
    assert len(os.listdir("/proc/self/fd")) == before
