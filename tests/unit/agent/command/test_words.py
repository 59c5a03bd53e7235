"""What somebody sees who has never typed `supervise` before."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from actors.agent.subcommands import parser_of, run
from actors.shared.config.loading import load
from actors.shared.config.paths import run_dir_of
from supervision.cli import agent_files
from supervision.cli.agent_files import AgentFiles, RefusedStart
from supervision.cli.command import NOT_RUNNING, REFUSED, CommandError, Context
from supervision.cli.status import run as run_status
from supervision.protocol import Tree

ROOT = Path(__file__).parents[4]


def supervise(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agent.command", *words]
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False, env=variables, errors="strict"
    )


def test_without_words_the_commands_are_listed() -> None:
    done = supervise()
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("start", "status", "pods", "describe", "events", "config", "demo"):
        assert f"\n    {command} " in done.stdout


def test_a_command_that_is_misspelt_gets_a_hint() -> None:
    done = supervise("sttus")
    assert (done.returncode, done.stderr) == (2, "supervise: there is no command sttus, did you mean status?\n")
    assert "did you mean start or status?" in supervise("stat").stderr
    assert "did you mean describe?" in supervise("descrbe").stderr
    assert "`supervise` lists the commands" in supervise("qqqqqq").stderr


def test_a_command_of_config_that_is_misspelt_gets_a_hint() -> None:
    done = supervise("config", "chek")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no command chek, did you mean check?" in done.stderr


def test_an_error_of_config_is_a_document_where_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise CommandError(REFUSED, "permission denied")

    monkeypatch.setattr("actors.shared.config.commands.run", refuse)
    assert run(["config", "history", "-o", "json"]) == run(["config", "history"]) == REFUSED
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == ({"error": "permission denied", "code": 4}, "supervise: permission denied\n")


def test_the_command_for_root_has_the_directory_that_sudo_would_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = argparse.Namespace(root_dir="/a b", run_dir="", output="text")
    context = Context(arguments, lambda arguments: AgentFiles(Path("/nowhere"), Path("/nowhere/incidents")))
    monkeypatch.setattr(sys, "argv", ["/usr/bin/supervise", "pods", "-o", "wide"])
    assert context.as_root() == "sudo supervise pods -o wide --root-dir '/a b'"
    monkeypatch.setattr(sys, "argv", [".venv/bin/supervise", "pods", "--root-dir=/a b"])
    assert context.as_root() == "sudo .venv/bin/supervise pods '--root-dir=/a b'"


def test_an_option_in_place_of_a_command_gets_a_hint() -> None:
    done = supervise("--foo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("supervise: --foo is no option of supervise itself: `supervise` lists the commands")
    assert "did you mean --version?" in supervise("--verson").stderr
    done = supervise("--root-dir=/a b", "start", "--v=2")
    assert done.returncode == 2
    assert done.stderr == "supervise: options follow the command: `supervise start '--root-dir=/a b' --v=2`\n"
    done = supervise("--root-dir=/a b", "status", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["state"]) == (3, "down")


def test_the_version_is_shown() -> None:
    done = supervise("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("troupelet ")
    assert "v1.36" in done.stdout


def test_the_root_directory_may_come_from_the_environment(tmp_path: Path) -> None:
    done = supervise("status", TROUPELET_ROOT_DIR=str(tmp_path))
    assert done.returncode == 3
    assert f"`supervise start --root-dir {tmp_path}`" in done.stdout + done.stderr


def test_the_demo_is_made_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPELET_ROOT_DIR", "/srv/mine")
    assert parser_of(["demo"])[0].parse_args(["demo"]).root_dir == "/srv/mine"
    assert parser_of(["demo"])[0].parse_args(["demo", "--root-dir=/x"]).root_dir == "/x"


def test_start_reads_it_too_and_a_flag_is_stronger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPELET_ROOT_DIR", str(tmp_path))
    runtime = "--container-runtime-endpoint=unix:///run/none.sock"
    assert load([runtime], recover=False).root_dir == str(tmp_path)
    assert load([runtime, "--root-dir=/other"], recover=False).root_dir == "/other"


def test_another_user_gets_the_advice_to_use_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["supervise", "tree"])
    arguments = argparse.Namespace(root_dir="/var/lib/kubelet", run_dir="", output="text", timeout=1.0)
    where = AgentFiles(tmp_path / "mine", tmp_path / "incidents", tmp_path / "lock", run_dir_of_root=tmp_path)
    with pytest.raises(CommandError, match="is root's; try `sudo supervise tree") as caught:
        Context(arguments, lambda _: where).tree()
    assert caught.value.code == REFUSED


def test_a_terminal_without_unicode_gets_no_traceback(tmp_path: Path) -> None:
    done = supervise("--help", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_agents_on_other_directories_are_suggested_when_there_is_none_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("troupelet-a", "troupelet-b", "other-c"):
        (tmp_path / name).mkdir()
    found = Tree(pid=1, uptime=1.0, state="ready", actors=[], incident_file="/demo/troupelet/incidents.jsonl")
    monkeypatch.setattr(agent_files, "_tree_of", lambda path: found if path.name != "troupelet-b" else None)
    arguments = argparse.Namespace(root_dir="/var/lib/k", run_dir="", output="text", timeout=1.0)
    where = AgentFiles(tmp_path / "troupelet", Path("/var/lib/k/troupelet/incidents.jsonl"))
    text = str(Context(arguments, lambda _: where).not_running())
    assert text.endswith("`supervise start --root-dir /var/lib/k`; elsewhere one runs: --root-dir /demo")
    spaced = msgspec.structs.replace(found, incident_file="/a b/troupelet/incidents.jsonl")
    monkeypatch.setattr(agent_files, "_tree_of", lambda path: spaced if path.name != "troupelet-b" else None)
    assert str(Context(arguments, lambda _: where).not_running()).endswith("elsewhere one runs: --root-dir '/a b'")


def test_where_the_last_start_was_refused_nobody_is_told_to_start_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = RefusedStart(time.time() + 50, ("swap is on", "--nope: unknown flag"))
    where = AgentFiles(tmp_path, tmp_path / "x", refused_start=lambda: refused)
    arguments = argparse.Namespace(root_dir="/r", run_dir="", output="text", timeout=1.0)
    assert run_status(Context(arguments, lambda _: where), advice="for the cause: supervise doctor") == NOT_RUNNING
    assert capsys.readouterr().out.splitlines() == [
        f"down: no agent is running on {tmp_path}, and its last start was refused, 0s ago: "
        "see `supervise doctor --root-dir /r`",
        "  last start: refused: swap is on",
        "  last start: refused: --nope: unknown flag",
    ]
    arguments = argparse.Namespace(root_dir="/var/lib/kubelet", run_dir="", output="text", timeout=1.0)
    assert str(Context(arguments, lambda _: where).not_running()).endswith("see `supervise doctor`")


def test_an_agent_that_starts_is_not_called_silent(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    (tmp_path / "lock").write_text(str(os.getpid()))
    arguments = argparse.Namespace(root_dir=str(tmp_path), run_dir="", output="text", timeout=1.0)
    context = Context(arguments, lambda _: AgentFiles(tmp_path, tmp_path / "incidents.jsonl", tmp_path / "lock"))
    with pytest.raises(CommandError, match=f"pid {os.getpid()}, cannot be asked yet: it is starting"):
        context.tree()


def test_the_given_run_directory_is_used_or_else_that_of_the_root_directory(tmp_path: Path) -> None:
    own = tmp_path / "run"
    for options, asked in ((("--run-dir", str(own)), str(own)), ((), run_dir_of(str(tmp_path)))):
        done = supervise("tree", "--root-dir", str(tmp_path), *options)
        assert f"no agent is running on {asked}: " in done.stderr
