"""Faults while the disk takes no record: the command line tells of them all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

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
