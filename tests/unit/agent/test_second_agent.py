"""An agent does not start where another one runs, and says on which directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent import start, start_checks
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from supervision.fork_server.lock import Lock
from supervision.hanging_disks import require_answer


@pytest.mark.parametrize(("taken", "flag"), [("root/troupelet", "--root-dir"), ("run", "--run-dir")])
def test_a_second_agent_on_the_same_directory_is_refused_before_it_touches_anything(
    tmp_path: Path, taken: str, flag: str
) -> None:
    agent = Agent(root_dir=str(tmp_path / "root"), run_dir=str(tmp_path / "run"))
    assert not list(start._others_here(agent, require_answer))
    (tmp_path / taken).mkdir(parents=True)
    lock = Lock(tmp_path / taken)
    (problem,) = start._others_here(agent, require_answer)
    named = tmp_path / taken.partition("/")[0]
    assert str(problem).startswith(f"{flag}: an agent with pid {os.getpid()} already runs on {named}: stop it")
    lock.release()
    assert not list(start._others_here(agent, require_answer))


def test_a_second_agent_is_refused_together_with_all_other_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    lock = Lock(tmp_path / "run")
    other = ConfigProblem("failCgroupV1", "true", "this host has cgroup v1")
    monkeypatch.setattr(start_checks, "problems", lambda agent: [other])
    with pytest.raises(ConfigErrors) as refused:
        start._set_up_host(Agent(root_dir=str(tmp_path / "root"), run_dir=str(tmp_path / "run")), require_answer)
    lock.release()
    found = [problem.path for problem in refused.value.problems]
    assert {"failCgroupV1", "--run-dir"} <= set(found)


def test_an_agent_on_both_directories_is_one_problem(tmp_path: Path) -> None:
    agent = Agent(root_dir=str(tmp_path / "root"), run_dir=str(tmp_path / "run"))
    locks = []
    for directory in (tmp_path / "root/troupelet", tmp_path / "run"):
        directory.mkdir(parents=True)
        locks.append(Lock(directory))
    assert [problem.path for problem in start._others_here(agent, require_answer)] == ["--root-dir"]
    for lock in locks:
        lock.release()
