"""A runtime that may open no more files is found, also while it no longer answers."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from actors.agent.doctor import runtime_checks
from actors.agent.doctor.finding import Level
from actors.agent.doctor.runtime_checks import runtime
from actors.shared.config.agent import Agent

LISTENING = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("limit", "found"), [(14, 1), (64, 0)])
def test_a_runtime_without_files_for_one_more_pod_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, found: int
) -> None:
    async def silent(endpoint: str) -> None:
        raise TimeoutError

    monkeypatch.setattr(runtime_checks, "_ask_runtime", silent)
    monkeypatch.setattr(runtime_checks, "absence", lambda endpoint: "")
    command = [sys.executable, "-c", LISTENING, f"{tmp_path}/c.sock"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        *told, silence = runtime(Agent(runtime_endpoint=f"unix://{tmp_path}/c.sock"), running=True)
        process.kill()
    assert "does not answer" in silence.text
    assert [one.level for one in told] == [Level.FAILURE] * found
    for one in told:
        assert f"of {limit} files open, so no further pod starts" in one.text
