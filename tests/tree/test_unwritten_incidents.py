"""Faults while the disk takes no record: the command line tells of them all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import hung_mount
from tests.support.supervised_agent import agent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tree


def test_a_fault_that_cannot_be_recorded_is_reported_until_it_is(tmp_path: Path) -> None:
    in_the_way = tmp_path / "incidents.jsonl"
    with agent(tmp_path) as running:
        name = next(name for name in running.pids() if name != "root")
        in_the_way.symlink_to(tmp_path / "none" / "file")
        running.crash(name, 1)
        running.fork_server.wait_running(name, incarnation=2)
        shown = running.supervise("incidents")
        assert f"{name}#1" in shown.stdout
        assert "1 of these wait in the agent's memory" in shown.stderr
        status = running.supervise("status")
        assert status.stdout.startswith("degraded")
        assert (
            "incidents: 1 records wait in memory, as they cannot be written: No such file or directory" in status.stdout
        )
        in_the_way.unlink()
        wait_for(lambda: running.causes() == [(name, "signal")])
        assert running.supervise("status").stdout.startswith("ready")
        shown = running.supervise("incidents")
        assert (shown.stdout.count(f"{name}#1"), shown.stderr) == (1, "")


@pytest.mark.skipif(not hung_mount.is_possible(), reason="needs root and /dev/fuse")
def test_faults_are_repaired_while_the_disk_of_the_incidents_hangs(tmp_path: Path) -> None:
    with agent(tmp_path) as running:
        name = next(name for name in running.pids() if name != "root")
        with hung_mount.hung_mount(tmp_path / "dead"):
            (tmp_path / "incidents.jsonl").symlink_to(tmp_path / "dead" / "incidents.jsonl")
            for incarnation in (1, 2):
                running.crash(name, incarnation)
                running.fork_server.wait_running(name, incarnation=incarnation + 1)
            told = "incidents: 2 records wait in memory, as they cannot be written: the disk does not answer"
            wait_for(lambda: told in running.supervise("status").stdout)
            (tmp_path / "incidents.jsonl").unlink()
        wait_for(lambda: running.causes() == [(name, "signal")] * 2)
