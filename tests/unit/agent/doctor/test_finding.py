from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from actors.agent.doctor.command import run
from actors.agent.doctor.finding import warning
from actors.agent.subcommands import parser_of
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import Context


@pytest.mark.parametrize("given", [True, False])
def test_the_doctor_names_the_directory_even_if_it_is_that_of_a_variable_which_sudo_drops(
    given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [warning("manifests", "not read yet", "supervise logs pod_config")]
    monkeypatch.setattr("actors.agent.doctor.command.findings", lambda context: iter(found))
    monkeypatch.setenv("TROUPELET_ROOT_DIR", "/elsewhere" if given else str(tmp_path))
    arguments = argparse.Namespace(root_dir=str(tmp_path), run_dir="", output="json", timeout=1.0, all=False)
    assert run(Context(arguments, lambda _: AgentFiles(tmp_path, tmp_path / "incidents"))) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["remedy"] == f"supervise logs pod_config --root-dir {tmp_path}"


def test_a_word_without_a_dash_is_no_flag_of_start(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = parser_of(["doctor"])[0].parse_args(["doctor", "web", "--all"])
    assert arguments.execute(arguments) == 2
    assert capsys.readouterr().err.startswith("supervise: doctor takes no web")
