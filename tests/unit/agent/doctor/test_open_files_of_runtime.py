"""A runtime that may open no more files, or watch no more directories, is found, also while it does not answer."""

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
from actors.shared.cri.errors import WithoutCri

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


def test_a_managed_runtime_without_its_plugin_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(endpoint: str) -> None:
        raise WithoutCri("Version", "UNIMPLEMENTED", "unknown service runtime.v1.RuntimeService")

    monkeypatch.setattr(runtime_checks, "_ask_runtime", silent)
    monkeypatch.setattr(runtime_checks, "absence", lambda endpoint: "")
    agent = Agent(root_dir=str(tmp_path), runtime_endpoint=f"unix://{tmp_path}/none.sock", managed_runtime=True)
    (before,) = runtime(agent, running=True)
    log = tmp_path / "troupelet/containerd/containerd.log"
    log.parent.mkdir(parents=True)
    line = 'level=warning msg="failed to load plugin io.containerd.grpc.v1.cri" error="{}"\n'
    shortage = r"no \"x\": fsnotify watcher: too many open files"
    log.write_text(line.format("earlier") + line.format(shortage) + "other\n")
    (found,) = runtime(agent, running=True)
    assert before.text.endswith("none.sock answers without CRI: its CRI plug-in is not loaded")
    assert found.text.endswith('its CRI plug-in is not loaded: no "x": fsnotify watcher: too many open files')
    assert found.remedy == "sysctl fs.inotify.max_user_instances=1024"
