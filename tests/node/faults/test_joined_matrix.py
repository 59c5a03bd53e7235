"""The fault matrix of a node that has joined a cluster: what the API server is told all the while. The faults are two
at once, hangs, the end of the agent, jumps of the clock, full file systems, a wedged runtime, and files that are
removed. Around each:

- the lease is renewed, and its renewals are never further apart than its duration (I1);
- a pod is gone from the API server only after its containers and its cgroup are (I4);
- the node's conditions stay, with their transition times (I7);
- no status goes back to an older observation (I12);
- other pods go on: their containers are the same, another pod starts, and one that is deleted ends."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.invariants import not_ready, regressed_phases
from tests.chaos.observers import Watching
from tests.support import jumping_clock
from tests.support.api_connection import ApiConnection, SeenEvent
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, JoinedNode, cluster_running, container, pod, status
from tests.support.kept_files import kept_files, rows_of
from tests.support.real_cluster import RealCluster
from tests.support.runtime import RealRuntime

pytestmark = pytest.mark.slow

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STEADY: Final = ("steady-a", "steady-b")
LEASE_SECONDS: Final = 40.0
WEDGED_SECONDS: Final = 10.0
"""Shorter than what makes a runtime count as down."""
NEVER_PRESSED: Final = {
    f"{disk}.{what}": "0%" for disk in ("nodefs", "imagefs") for what in ("available", "inodesFree")
}
"""A full disk is a condition of the node, and rightly told; here only what else it does is looked at."""


class JumpyNode(JoinedNode):
    """Its wall clock jumps, and its root and run directories are small file systems."""

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def run(self) -> Path:
        return self._run_dir

    def mount(self) -> None:
        for path, size in ((self.root, "64m"), (self.run, "8m")):
            path.mkdir(mode=0o700)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(path)], check=True)

    def unmount(self) -> None:
        for path in (self.root / "pods", self.root, self.run):
            subprocess.run(["umount", "-q", str(path)], check=False)

    @property
    def clock(self) -> Path:
        return self.home / "clock"

    @property
    def _program(self) -> list[str]:
        return [sys.executable, "-m", jumping_clock.__name__]


class Deletions(Watching):
    """What the API server is told of pods that end. Of the lease its renewals are watched: its time is the node's."""

    def _looks(self) -> list[Callable[[], None]]:
        return [self._look_at_deletions]


class Matrix:
    def __init__(self, joined: Joined, node: JumpyNode) -> None:
        self.joined, self.node, self._numbers = joined, node, itertools.count()
        self.leases = joined.api.watch(LEASES, fieldSelector=f"metadata.name={NODE}")

    def hold(self, fault: Callable[[], None], undo: Callable[[], None] = lambda: None) -> None:
        """`undo` is called once pods come and go under the fault."""
        joined, node = self.joined, self.node
        node.wait_whole()
        old, new = f"old-{next(self._numbers)}", f"new-{next(self._numbers)}"
        joined.create(pod(old))
        joined.wait_pods_ready(old, *STEADY)
        ids, conditions = steady_ids(joined), told_conditions(joined)
        pods, nodes, leases = len(joined.pods.events), len(joined.nodes.events), max(0, len(self.leases.events) - 1)
        watching = Deletions(joined)
        with watching.going_on():
            try:
                fault()
                joined.delete(old)
                joined.create(pod(new))
            finally:
                undo()
            joined.wait_pods_ready(new, seconds=120)
            joined.wait_no_pod(old)
            node.wait_whole()
            renewals = len(self.leases.events)
            self.leases.until(lambda: len(self.leases.events) > renewals, "the lease is renewed", LEASE_SECONDS)
            joined.delete(new)
            joined.wait_no_pod(new)
        assert watching.wrong == []
        assert gaps(self.leases.events[leases:]) == []
        assert list(not_ready(joined.nodes.events[nodes:])) == []
        assert told_conditions(joined) == conditions
        assert list(regressed_phases(joined.pods.events[pods:])) == []
        assert steady_ids(joined) == ids


def gaps(leases: list[SeenEvent]) -> list[float]:
    """Seconds between two renewals that are too far apart."""
    times = [one.at for one in leases]
    return [later - one for one, later in itertools.pairwise(times) if later - one >= LEASE_SECONDS]


def steady_ids(joined: Joined) -> dict[str, str]:
    return {key: value for key, value in joined.running_ids().items() if key.partition("/")[0] in STEADY}


def told_conditions(joined: Joined) -> dict[str, tuple[str, str]]:
    """Status and time of the last transition of each condition of the node."""
    found = status(joined.nodes.now[f"/{NODE}"]).get("conditions") or []
    return {one["type"]: (one["status"], one["lastTransitionTime"]) for one in found}


@pytest.fixture(scope="module")
def matrix(session_runtime: RealRuntime) -> Iterator[Matrix]:
    with cluster_running(session_runtime.base / "matrix-api") as cluster, ApiConnection(cluster.admin) as api:
        if isinstance(cluster, RealCluster):
            cluster.forget(NODE)
        node = JumpyNode(session_runtime, cluster, "matrix", evictionHard=NEVER_PRESSED)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(jumping_clock.VARIABLE, str(node.clock))
            jumping_clock.create(node.clock)
            node.mount()
            try:
                joined = Joined(cluster, node, api)
                node.start()
                joined.wait_ready()
                probe = {"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 20}
                joined.create(*(pod(name, container("main", readinessProbe=probe)) for name in STEADY))
                joined.wait_pods_ready(*STEADY)
                yield Matrix(joined, node)
                joined.clear()
            finally:
                if isinstance(cluster, RealCluster):
                    api.delete_made()
                node.stop()
                node.unmount()
                node.remove()


PAIRS: Final = (
    ("api_clients/heartbeat_client", "status_manager"),
    ("api_clients/kube_client", "pod_workers/worker/0"),
    ("root", "pleg"),
    ("api_clients", "pod_workers"),
    ("volume_manager", "container_manager"),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(pair))
def test_two_faults_at_once_change_nothing_in_the_api_server(matrix: Matrix, pair: tuple[str, str]) -> None:
    matrix.hold(lambda: matrix.node.kill_at_once(*pair))


@pytest.mark.parametrize("name", ["api_clients/heartbeat_client", "status_manager", "pod_workers/worker/0"])
def test_an_actor_that_hangs_changes_nothing_in_the_api_server(matrix: Matrix, name: str) -> None:
    def hang() -> None:
        was = matrix.node.actors()[name].incarnation
        matrix.node.inject(name, "hang")
        matrix.node.wait_replaced(name, was)

    matrix.hold(hang)


def test_killing_and_starting_the_agent_changes_nothing_in_the_api_server(matrix: Matrix) -> None:
    matrix.hold(matrix.node.kill_fork_server_and_start)


@pytest.mark.parametrize("seconds", [3600.0, 86400.0, -3600.0, -86400.0])
def test_setting_the_clock_and_setting_it_back_changes_only_times(matrix: Matrix, seconds: float) -> None:
    if not isinstance(matrix.joined.cluster, ApiProcess):
        pytest.skip("NOT TESTED: certificates of a real cluster may not be valid then")

    def jump(to: float) -> Callable[[], None]:
        return lambda: jumping_clock.jump(matrix.node.clock, to)

    matrix.hold(jump(seconds))
    matrix.hold(jump(0.0))


# -- scarcity, a wedged runtime, files --------------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["root", "run"])
def test_a_full_file_system_of_the_agent_changes_nothing_in_the_api_server(matrix: Matrix, where: str) -> None:
    node = matrix.node
    directory = node.root if where == "root" else node.run
    filler = directory / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while shutil.disk_usage(directory).free:
                file.write(bytes(4096))
        for name in ("status_manager", "pod_workers/worker/0", "volume_manager"):
            was = node.actors()[name].incarnation
            node.inject(name, "crash")
            node.wait_replaced(name, was)

    matrix.hold(fill, filler.unlink)


def test_a_wedged_runtime_that_goes_on_changes_nothing_in_the_api_server(matrix: Matrix) -> None:
    process = matrix.node.runtime.process
    assert process is not None

    def wedge() -> None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(WEDGED_SECONDS)

    matrix.hold(wedge, lambda: process.send_signal(signal.SIGCONT))


def removed(node: JumpyNode) -> None:
    """All that the agent keeps, but its sockets: an actor of which these are gone is replaced, and has an incident."""
    for name, path in kept_files(node.root, node.run):
        if rows_of(name) and not path.is_socket():
            with suppress(FileNotFoundError):
                path.unlink()


def test_files_removed_under_a_running_agent_change_nothing_in_the_api_server(matrix: Matrix) -> None:
    matrix.hold(lambda: removed(matrix.node))


def test_files_that_are_gone_when_the_agent_starts_change_nothing_in_the_api_server(matrix: Matrix) -> None:
    def remove() -> None:
        matrix.node.kill_fork_server()
        try:
            removed(matrix.node)
        finally:
            matrix.node.start()

    matrix.hold(remove)
