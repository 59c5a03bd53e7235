"""Where the commands look for the agent of a root directory."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from actors.agent.engine_settings import agent_files
from actors.shared.config.agent import Agent
from actors.shared.config.paths import run_dir_of
from actors.shared.config.start import start_records


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Of an agent that was started with a run directory of its own."""
    (tmp_path / "root/troupelet").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    start_records.note(Agent(root_dir=f"{tmp_path}/root", run_dir=f"{tmp_path}/run"), [])
    return tmp_path / "root"


def found(root: Path, run_dir: str = "") -> Path:
    return agent_files(argparse.Namespace(root_dir=str(root), run_dir=run_dir)).run_dir


def test_an_agent_with_a_run_directory_of_its_own_is_found_by_its_root_directory(root: Path) -> None:
    (root.parent / "run/lock").touch()
    assert found(root) == root.parent / "run"


def test_the_usual_run_directory_is_that_of_an_agent_that_has_ended(root: Path) -> None:
    assert found(root) == Path(run_dir_of(str(root)))


def test_the_run_directory_that_is_typed_counts(root: Path) -> None:
    (root.parent / "run/lock").touch()
    assert found(root, "/run/other") == Path("/run/other")
