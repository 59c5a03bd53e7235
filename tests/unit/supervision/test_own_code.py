"""What the agent runs in another Python is its own code, whatever lies in the working directory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import actors
from actors.agent import run_once
from actors.shared.config.agent import Agent
from actors.volume_manager.declaration import when_killed
from supervision.own_code import own_code


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that modules in the working directory would make."""
    found = tmp_path / "loaded"
    for name in ("actors", "supervision", "proto", "logging"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open({str(found)!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    return found


def test_own_code_is_that_of_this_process_and_gets_its_arguments(loaded: Path) -> None:
    command = own_code("import logging, actors; print(actors.__file__, sys.argv[1:])")
    done = subprocess.run([*command, "a b"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{actors.__file__} ['a b']\n"
    assert not loaded.exists()


def test_run_once_starts_no_module_of_the_working_directory(loaded: Path) -> None:
    assert run_once._start_agent(["--version"]).wait(60) == 0
    assert not loaded.exists()


def test_what_cleans_up_after_a_killed_agent_runs_no_module_of_the_working_directory(
    loaded: Path, tmp_path: Path
) -> None:
    pods = tmp_path / "root/pods"
    pods.mkdir(parents=True)
    done = subprocess.run(
        when_killed(Agent(root_dir=f"{tmp_path}/root")), capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not loaded.exists()
