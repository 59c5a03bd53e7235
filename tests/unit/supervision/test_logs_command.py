"""`supervise logs` finds the log of an agent that has no log file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from supervision.cli.logs import stderr_file, to_stderr_only


def test_the_file_that_takes_an_agents_stderr_is_named(tmp_path: Path) -> None:
    waits = [sys.executable, "-c", "input()"]
    log = tmp_path / "agent.log"
    with log.open("w") as out, subprocess.Popen(waits, stdin=subprocess.PIPE, stderr=out) as agent:
        assert stderr_file(agent.pid) == str(log)
        agent.kill()
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
        assert stderr_file(agent.pid) == ""
        agent.kill()
    assert stderr_file(0) == ""


def test_the_hint_is_a_command_that_can_be_typed() -> None:
    assert "`supervise logs pleg --file /a.log`" in to_stderr_only("/a.log", "pleg")
    assert "`supervise logs --file /a.log`" in to_stderr_only("/a.log", "")
    assert "journalctl" in to_stderr_only("", "pleg")
