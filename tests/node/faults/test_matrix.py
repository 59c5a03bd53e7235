"""The fault matrix: scarcity, wedged programs, two faults at once, clock jumps, and the removal of each file that the
agent keeps. After each the invariants hold that concern a node with static pods:

- a running container is not ended, its restart count stays, and no container runs twice;
- another pod starts, and one that is withdrawn leaves no container, no mount and no files;
- each fault has one incident that names its actor and cause, and there are no others;
- nothing is left of ended processes, the others have no more descriptors, all of the tree is in service, and it takes
  no more memory than before.

Faults of single actors are in test_each_actor, a full disk is in test_full_disk, the API server's in joined/."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from actors.shared.config.paths import run_dir_of
from actors.shared.linux import mountinfo
from tests.bench.pods import manifest
from tests.support import jumping_clock
from tests.support.faulty_node import FaultyNode, NotInTime
from tests.support.kept_files import KEPT, Kept, kept_files, rows_of
from tests.support.managed import managed_runtime

STEADY: Final = ("steady-a", "steady-b")
DAY: Final = 86400.0
YEAR: Final = 365.25 * DAY
RUN_SIZE: Final = "4m"
RUN_FILES: Final = 1000
SPARE_DESCRIPTORS: Final = 3
CHANNEL: Final = "anon_inode:[eventfd]"
"""A process with a gRPC channel has one open. It makes the channel at its first call, before or after a fault."""
GROWTH: Final = 1.15
"""So much more memory the tree may take after a fault: processes that were replaced share other pages than before."""
PROBED: Final = """\
    readinessProbe: {exec: {command: [\"true\"]}, periodSeconds: 1}
"""
Expected = list[tuple[str, str]]
"""Actor and cause of each incident."""


class JumpyNode(FaultyNode):
    """Its wall clock jumps, and its run directory is a small file system."""

    @property
    def clock(self) -> Path:
        return self.home / "clock"

    @property
    def run(self) -> Path:
        return Path(run_dir_of(f"{self.home}/root"))

    @property
    def _program(self) -> list[str]:
        return [sys.executable, "-m", jumping_clock.__name__]


@pytest.fixture(scope="module")
def node() -> Iterator[JumpyNode]:
    with managed_runtime() as runtime, pytest.MonkeyPatch.context() as patch:
        agent = JumpyNode(runtime)
        patch.setenv(jumping_clock.VARIABLE, str(agent.clock))
        jumping_clock.create(agent.clock)
        agent.run.mkdir(mode=0o700)
        options = f"size={RUN_SIZE},nr_inodes={RUN_FILES},mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(agent.run)], check=True)
        try:
            agent.start()
            agent.wait_whole()
            for name in STEADY:
                agent.write(name, manifest(name) + PROBED)
            agent.wait_running(*STEADY)
            yield agent
        finally:
            agent.stop()
            subprocess.run(["umount", str(agent.run)], check=True)
            agent.remove()


class Invariants:
    """Of one agent, held around each fault."""

    def __init__(self, node: JumpyNode) -> None:
        self._node, self._numbers = node, itertools.count()

    def hold(self, fault: Callable[[], Expected], *, undo: Callable[[], None] = lambda: None) -> None:
        """`fault` answers the incidents that it is to have; `undo` is called when a pod has started under it."""
        node = self._node
        node.wait_whole()
        old, new = f"pod-{next(self._numbers)}", f"pod-{next(self._numbers)}"
        node.add(old)
        node.wait_running(old)
        before, known = {name: node.running()[name] for name in STEADY}, len(node.incidents())
        descriptors, memory = _descriptors(node), _memory(node)
        uid = _uid(node, old)
        try:
            expected = fault()
            node.withdraw(old)
            node.add(new)
        finally:
            undo()
        node.wait_running(new)
        node.wait_gone(old)
        node.wait_whole()
        assert {name: node.running().get(name) for name in STEADY} == before, "neither ended nor counted"
        assert node.doubles() == []
        node.until(lambda: not _left_of(node, uid), "nothing is left of the pod that ended")
        node.until(lambda: not node.strays(), "no process but those of the tree", 10.0)
        wanted = sorted(expected)
        node.until(lambda: len(node.incidents()) - known >= len(wanted), "each fault has its incident")
        assert sorted((one.actor, one.cause) for one in node.incidents()[known:]) == wanted
        node.withdraw(new)
        node.wait_gone(new)
        _no_more_descriptors(node, descriptors)
        node.until(lambda: _memory(node) <= GROWTH * memory, "no memory is kept")


def _no_more_descriptors(node: JumpyNode, before: dict[tuple[str, int], list[str]]) -> None:
    grown: dict[str, list[str]] = {}

    def look() -> bool:
        grown.clear()
        grown.update(_grown(before, _descriptors(node)))
        return not grown

    with suppress(NotInTime):
        node.until(look, "no descriptor is left open")
    assert grown == {}, "more descriptors are open than before the fault"


def _descriptors(node: JumpyNode) -> dict[tuple[str, int], list[str]]:
    """What each actor has open, by name and pid."""
    return {(name, actor.pid): _open_in(actor.pid) for name, actor in node.actors().items() if actor.pid}


def _open_in(pid: int) -> list[str]:
    found = []
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(str(entry.readlink()))
    return found


def _memory(node: JumpyNode) -> int:
    """Bytes of the agent's own processes; a runtime keeps what it likes."""
    return sum(one.memory_bytes for one in node.tree().actors if one.kind != "program")


def _grown(before: dict[tuple[str, int], list[str]], now: dict[tuple[str, int], list[str]]) -> dict[str, list[str]]:
    """What those actors opened that are the same processes, and have more open than before, but for a few
    connections that come and go, and for the first gRPC channel."""
    return {
        key[0]: sorted((Counter(now[key]) - Counter(before[key])).elements())
        for key in before.keys() & now.keys()
        if len(now[key]) > len(before[key]) + SPARE_DESCRIPTORS and (CHANNEL in before[key]) == (CHANNEL in now[key])
    }


def _uid(node: JumpyNode, name: str) -> str:
    return next(one.pod_uid for one in node.containers() if one.pod_name.startswith(f"{name}-"))


def _left_of(node: JumpyNode, uid: str) -> list[str]:
    mounts = [one.point for one in mountinfo.read() if uid in one.point]
    return [*mounts, *(str(path) for path in (node.home / "root" / "pods").glob(uid))]


@pytest.fixture(scope="module")
def invariants(node: JumpyNode) -> Invariants:
    return Invariants(node)


# -- files ------------------------------------------------------------------------------------------------------------
def found(node: JumpyNode) -> list[tuple[str, Path]]:
    return [*kept_files(node.home / "root", node.run)]


def test_each_file_of_a_real_agent_has_a_row_and_each_usual_row_has_a_file(node: JumpyNode) -> None:
    rowless: list[str] = []

    def look() -> bool:
        rowless[:] = _rowless(node)
        return not rowless

    with suppress(NotInTime):
        node.until(look, "those that are there for a moment are gone", 10.0)
    assert rowless == [], "add a row to tests/support/kept_files.py"
    there = {row.pattern for name, _ in found(node) for row in rows_of(name)}
    missing = {row.pattern for row in KEPT if not row.when} - there
    assert missing <= {"root/troupelet/incidents.jsonl*"}, "no fault so far, or a row of what is not kept"


def _rowless(node: JumpyNode) -> list[str]:
    return [name for name, _ in found(node) if not rows_of(name)]


USUAL: Final = list(dict.fromkeys(row.pattern for row in KEPT if not row.when))
"""Those that are there without more than this test does; the others have tests where they are."""
AT_A_START: Final = {
    "containerd": "root/troupelet/containerd/",
    "state": "root/troupelet/",
    "certificates": "root/pki/",
    "pods": "root/pods/",
    "root": "root/",
}
"""Beginnings of paths: what is below is removed before one start."""


@pytest.mark.parametrize("pattern", USUAL)
def test_a_state_file_removed_under_a_running_agent_changes_no_pod(
    node: JumpyNode, invariants: Invariants, pattern: str
) -> None:
    rows = [row for row in KEPT if row.pattern == pattern]

    def remove() -> Expected:
        sockets = _sockets(node)
        _removed(node, rows)
        # an actor of which both sockets are gone at one look is replaced, and that has an incident
        node.until(lambda: sockets <= _sockets(node), "the sockets are made again")
        return []

    invariants.hold(remove)


def _sockets(node: JumpyNode) -> set[str]:
    return {path.name for path in (node.run / "names").iterdir() if path.is_socket()}


@pytest.mark.parametrize("below", AT_A_START.values(), ids=AT_A_START.keys())
def test_files_that_are_gone_when_the_agent_starts_cost_no_pod_anything(
    node: JumpyNode, invariants: Invariants, below: str
) -> None:
    rows = [row for row in KEPT if row.pattern.startswith(below)]

    def remove() -> Expected:
        node.kill_fork_server()
        try:
            _removed(node, rows)
        finally:
            node.start()
        return []

    invariants.hold(remove)


STATE: Final = {
    "container_manager": ("cpu_manager_state", "memory_manager_state", "allocated_pods_state", "actuated_pods_state"),
    "device_manager": ("dra_manager_state", "device-plugins/kubelet_internal_checkpoint"),
    "pod_workers/worker/0": ("allocated_pods_state", "actuated_pods_state"),
}
"""What a new agent refuses to start with, when it is damaged, by the actor that reads it."""


@pytest.mark.parametrize("actor", STATE)
def test_state_files_that_are_damaged_under_a_running_agent_stop_no_actor_that_is_replaced(
    node: JumpyNode, invariants: Invariants, actor: str
) -> None:
    paths = [path for name in STATE[actor] if (path := node.home / "root" / name).exists()]
    assert paths

    def damage() -> Expected:
        was = node.actors()[actor].incarnation
        for path in paths:
            path.write_bytes(b'{"junk')
        node.inject(actor, "crash")
        node.wait_replaced(actor, was)
        return [(actor, "signal")]

    invariants.hold(damage)
    if actor != "pod_workers/worker/0":  # which does not write them
        assert [path for path in paths if path.read_bytes() == b'{"junk'] == []


def test_the_directory_of_networks_that_is_removed_under_a_running_agent_comes_back(
    node: JumpyNode, invariants: Invariants
) -> None:
    """The restart of containerd, which then reads no such directory, is the agent's own and no fault."""
    directory = node.home / "root" / "troupelet" / "containerd" / "net.d"

    def remove() -> Expected:
        shutil.rmtree(directory)
        return []

    invariants.hold(remove)
    assert list(directory.iterdir())


def _removed(node: JumpyNode, rows: list[Kept]) -> None:
    for name, path in found(node):
        if any(row in rows for row in rows_of(name)):
            with suppress(FileNotFoundError):
                path.unlink()


# -- scarcity ---------------------------------------------------------------------------------------------------------
def test_a_full_run_directory_changes_no_pod(node: JumpyNode, invariants: Invariants) -> None:
    filler = node.run / "filler"

    def fill() -> Expected:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        node.inject("prober", "crash")
        node.inject("pod_workers/worker/0", "crash")
        return [("prober", "signal"), ("pod_workers/worker/0", "signal")]

    invariants.hold(fill, undo=filler.unlink)


def test_a_run_directory_without_free_inodes_changes_no_pod(node: JumpyNode, invariants: Invariants) -> None:
    directory = node.run / "fillers"

    def fill() -> Expected:
        directory.mkdir()
        with suppress(OSError):
            for number in itertools.count():
                (directory / str(number)).touch()
        assert number < RUN_FILES
        node.inject("prober", "crash")
        node.inject("pod_workers/worker/0", "crash")
        return [("prober", "signal"), ("pod_workers/worker/0", "signal")]

    invariants.hold(fill, undo=lambda: shutil.rmtree(directory))


# -- wedged programs, two faults at once ------------------------------------------------------------------------------
def test_a_wedged_containerd_is_replaced_and_its_containers_run_on(node: JumpyNode, invariants: Invariants) -> None:
    def wedge() -> Expected:
        incarnation = node.actors()["container_runtime"].incarnation
        node.inject("container_runtime", "stop")
        node.until(lambda: node.actors()["container_runtime"].incarnation > incarnation, "it is replaced", 120.0)
        return [("container_runtime", "hang")]

    invariants.hold(wedge)


PAIRS: Final = (
    ("container_runtime", "pod_workers/worker/0"),
    ("root", "container_runtime"),
    ("pleg", "pod_workers"),
    ("volume_manager", "container_manager"),
    ("image_manager", "pod_workers/worker/1"),
    ("pod_config", "status_manager"),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_two_faults_at_once_cost_no_pod_anything(
    node: JumpyNode, invariants: Invariants, pair: tuple[str, str]
) -> None:
    def kill() -> Expected:
        node.kill_at_once(*pair)
        return [(name, "signal") for name in pair]

    invariants.hold(kill)


# -- the clock --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seconds", [YEAR, 3600.0, -DAY, -YEAR], ids=["year", "hour", "day back", "year back"])
def test_a_jump_of_the_clock_changes_no_pod(node: JumpyNode, invariants: Invariants, seconds: float) -> None:
    def jump() -> Expected:
        jumping_clock.jump(node.clock, seconds)
        return []

    invariants.hold(jump)
    invariants.hold(lambda: jumping_clock.jump(node.clock, 0.0) or [])  # type: ignore[func-returns-value]


def test_the_agent_of_the_matrix_sees_the_clock_that_it_was_given(node: JumpyNode) -> None:
    """Otherwise the rows on the clock prove nothing."""
    jumping_clock.jump(node.clock, YEAR)
    try:
        node.inject("prober", "crash")
        node.until(lambda: _is_ahead(node), "an incident of next year")
    finally:
        jumping_clock.jump(node.clock, 0.0)


def _is_ahead(node: JumpyNode) -> bool:
    latest = max(
        (datetime.fromisoformat(one.time) for one in node.incidents()), default=datetime.min.replace(tzinfo=UTC)
    )
    return latest > datetime.now(UTC) + timedelta(seconds=YEAR / 2)
