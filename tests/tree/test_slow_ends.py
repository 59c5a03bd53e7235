"""A process that takes its time to end, as one with much memory or in a call of a slow disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.fork_server_process import fork_server_running
from tests.support.tree_actors import HERE

FREEZER = Path("/sys/fs/cgroup/freezer")
pytestmark = [
    pytest.mark.tree,
    pytest.mark.skipif(
        not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="only the freezer of cgroup v1 delays a SIGKILL"
    ),
]


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Nothing ends the process meanwhile."""
    cgroup = FREEZER / f"troupelet-test-{os.getpid()}"
    cgroup.mkdir()
    try:
        (cgroup / "cgroup.procs").write_text(str(pid))
        (cgroup / "freezer.state").write_text("FROZEN")
        yield
    finally:
        (cgroup / "freezer.state").write_text("THAWED")
        while (cgroup / "cgroup.procs").read_text():
            pass
        cgroup.rmdir()


def test_the_late_end_of_a_process_is_not_taken_for_that_of_the_one_that_the_next_supervisor_has_ordered(
    tmp_path: Path,
) -> None:
    with fork_server_running(f"{HERE}:united", tmp_path / "run") as fork_server:
        with frozen(fork_server.pid("group/a")):
            fork_server.kill("group/b")
            fork_server.wait(lambda: fork_server.tree()["group/a"].state == "stopping", "its group stops it")
            fork_server.kill("group")
            fork_server.wait_running("group", "group/b", incarnation=2)
        fork_server.wait_running("group/a", incarnation=2)
        fork_server.kill("group/a")
        fork_server.wait_running("group/a", incarnation=3)
        assert fork_server.tree()["group"].incarnation == 2
