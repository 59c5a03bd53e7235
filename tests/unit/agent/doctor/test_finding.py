from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from actors.agent.doctor.command import run
from actors.agent.doctor.finding import for_agent, warning
from actors.agent.subcommands import parser_of
from supervision.cli.command import DEFAULT_ROOT_DIR, AgentFiles, Context


@pytest.mark.parametrize(
    ("remedy", "named"),
    [
        ("supervise status; supervise incidents", "supervise status --root-dir /r; supervise incidents --root-dir /r"),
        ("wait, then: supervise incidents pleg --full", "wait, then: supervise incidents pleg --full --root-dir /r"),
        ("supervise describe pod a/b", "supervise describe pod a/b --root-dir /r"),
        ("supervise pods -o wide: end others", "supervise pods -o wide --root-dir /r: end others"),
        ("sudo supervise doctor", "sudo supervise doctor --root-dir /r"),
        ("supervise start --root-dir /r", "supervise start --root-dir /r"),
        ("supervise config check --root-dir=/a --max-pods=5", "supervise config check --root-dir=/a --max-pods=5"),
        ("supervise config explain FIELD", "supervise config explain FIELD"),
        ("swapoff -a", "swapoff -a"),
        ("", ""),
    ],
)
def test_remedies_name_the_directory_of_another_agent_than_the_default_one(remedy: str, named: str) -> None:
    assert for_agent(warning("agent", "x", remedy), "/r") == warning("agent", "x", named)


def test_a_directory_with_a_space_is_quoted() -> None:
    assert for_agent(warning("a", "x", "supervise tree"), "/a b").remedy == "supervise tree --root-dir '/a b'"


def test_remedies_begin_with_what_must_be_typed() -> None:
    remedy = "supervise incidents pleg --full; sudo supervise doctor"
    found = for_agent(warning("a", "x", remedy), DEFAULT_ROOT_DIR, ".venv/bin/supervise", "/opt/t/bin/supervise")
    assert found.remedy == ".venv/bin/supervise incidents pleg --full; sudo /opt/t/bin/supervise doctor"


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
