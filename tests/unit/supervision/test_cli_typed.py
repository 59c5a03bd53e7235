"""Commands in a text begin with what the reader must type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from supervision.cli.command import as_typed

TEXT = "there is no actor web: see `supervise tree`; the supervise command"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that was called, with a space in its path."""
    path = tmp_path / "my env" / "supervise"
    path.parent.mkdir()
    path.touch(0o755)
    monkeypatch.setattr("sys.argv", [str(path), "tree"])
    return path


def test_a_script_that_the_shell_does_not_find_is_named_by_its_path(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    assert as_typed(TEXT) == f"there is no actor web: see `'{script}' tree`; the supervise command"


def test_a_script_that_the_shell_finds_is_named_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert as_typed(TEXT) == TEXT


def test_another_program_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubelet"])
    assert as_typed(TEXT) == TEXT
