"""A kubelet on the agent's root directory is found, and no agent starts beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent import other_kubelets, start
from actors.agent.doctor import host_checks
from actors.agent.doctor.finding import Level
from actors.agent.other_kubelets import kubelet_on
from actors.shared.config.agent import Agent
from supervision.hanging_disks import require_answer


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """The processes of this host; the pid is that of one which sees the directories."""
    found: list[tuple[int, list[str]]] = []
    monkeypatch.setattr(other_kubelets, "commands", lambda: iter(found))
    return found


@pytest.mark.parametrize("words", [["--root-dir={}"], ["-v=2", "--root-dir", "{}"], ["--root-dir={}/../root"]])
def test_a_kubelet_on_the_same_directory_is_found(
    tmp_path: Path, processes: list[tuple[int, list[str]]], words: list[str]
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    assert kubelet_on(str(tmp_path / "root")) == 0
    processes.append((os.getppid(), ["/usr/bin/kubelet", *(word.format(tmp_path / "root") for word in words)]))
    assert kubelet_on(str(tmp_path / "root")) == os.getppid()
    assert kubelet_on(str(tmp_path / "link")) == os.getppid()
    assert kubelet_on(str(tmp_path)) == 0


def test_the_directory_of_a_kubelet_that_has_ended_or_is_elsewhere_is_not_ours(
    tmp_path: Path, processes: list[tuple[int, list[str]]]
) -> None:
    processes.append((2**22 + 1, ["kubelet", f"--root-dir={tmp_path}"]))
    processes.append((os.getppid(), ["kubelet", f"--root-dir={tmp_path}/none"]))
    processes.append((os.getppid(), ["python3", f"--root-dir={tmp_path}"]))
    assert kubelet_on(str(tmp_path)) == 0


def test_no_agent_starts_beside_a_kubelet(tmp_path: Path, processes: list[tuple[int, list[str]]]) -> None:
    processes.append((os.getppid(), ["kubelet", f"--root-dir={tmp_path}"]))
    agent = Agent(root_dir=str(tmp_path), run_dir=f"{tmp_path}/run")
    (problem,) = start._others_here(agent, require_answer)
    assert str(problem).startswith(f"--root-dir: a kubelet with pid {os.getppid()} runs on {tmp_path}: stop it first")
    first = next(host_checks.start(agent, []))
    assert (first.level, first.text) == (Level.FAILURE, str(problem))
