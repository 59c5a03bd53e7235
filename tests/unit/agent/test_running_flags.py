"""The flags of the agent that runs."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
from pathlib import Path

import pytest

from actors.agent.running_flags import as_started, of_agent, where_it_started
from actors.config_controller.messages import Flagz, GetFlagz
from actors.shared.config.errors import MASKED
from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, REFUSED, CommandError, Context
from supervision.protocol import Tree


def where(arguments: argparse.Namespace) -> AgentFiles:
    return AgentFiles(Path(arguments.root_dir, "run"), Path(arguments.root_dir, "incidents.jsonl"))


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Tree:
    """An agent, which is this process."""
    tree = Tree(pid=os.getpid(), uptime=1.0, state="ready", actors=[])

    def ask(self: Context, question: object, reply: object, name: str = "", timeout: float = 0.0) -> object:
        return Flagz({"max-pods": "5"}, ("max-pods",), {}, "v") if isinstance(question, GetFlagz) else tree

    monkeypatch.setattr(Context, "ask", ask)
    return tree


def test_the_flags_of_the_agent_are_used_without_those_that_it_hides() -> None:
    flags = {"max-pods": "5", "manifest-url-header": MASKED, "manifest-url": "https://u:xxxxx@h/", "v": "2"}
    assert of_agent(Flagz(flags, ("max-pods", "manifest-url-header", "manifest-url"), {}, "v")) == ["--max-pods=5"]


def test_relative_paths_start_at_the_working_directory_of_the_agent(tmp_path: Path) -> None:
    before = os.getcwd()
    with subprocess.Popen(["sleep", "100"], cwd=tmp_path) as process:
        try:
            with where_it_started(Tree(pid=process.pid, uptime=1.0, state="ready", actors=[])):
                assert os.getcwd() == str(tmp_path)
        finally:
            process.kill()
    assert os.getcwd() == before


@pytest.mark.parametrize("words", [[], ["--root-dir=/r"], ["--root-dir", "/r", "--run-dir=/x"]])
def test_words_that_only_name_an_agent_stand_for_its_flags(words: list[str], running: Tree) -> None:
    notes = io.StringIO()
    with as_started(words, where, notes) as started:
        assert started.flags == ["--max-pods=5"]
        assert started.flagz is not None
    assert f"pid {running.pid}: --max-pods=5" in notes.getvalue()


@pytest.mark.parametrize("words", [["--v=3"], ["--root-dir=/r", "--max-pods=7"], ["--no-such-flag"]])
@pytest.mark.usefixtures("running")
def test_flags_that_are_given_are_taken_as_they_are(words: list[str]) -> None:
    notes = io.StringIO()
    with as_started(words, where, notes) as started:
        assert started == (words, None, None)
    assert not notes.getvalue()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (NOT_RUNNING, "no agent runs, and how it was started is not known: these are the defaults"),
        (NO_ANSWER, "are not known, so none are taken: away"),
    ],
)
def test_the_defaults_are_validated_and_labelled_if_no_agent_has_flags(
    code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*given: object, **more: object) -> object:
        raise CommandError(code, "away")

    monkeypatch.setattr(Context, "ask", ask)
    notes = io.StringIO()
    with as_started(["--root-dir=/r"], where, notes) as started:
        assert started.flags == ["--root-dir=/r"]
    assert said in notes.getvalue()


def test_an_agent_that_does_not_run_is_checked_with_the_flags_of_its_last_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*given: object, **more: object) -> object:
        raise CommandError(NOT_RUNNING, "away")

    def stopped(arguments: argparse.Namespace) -> AgentFiles:
        last = LastStart(("--config=a.yaml", "--max-pods=5"), str(tmp_path), "")
        return where(arguments)._replace(last_start=lambda: last)

    monkeypatch.setattr(Context, "ask", ask)
    notes, before = io.StringIO(), os.getcwd()
    with as_started(["--root-dir=/r"], stopped, notes) as started:
        assert started.flags == ["--root-dir=/r", "--config=a.yaml", "--max-pods=5"]
        assert os.getcwd() == str(tmp_path)
    assert os.getcwd() == before
    assert "no agent runs; with the flags of its last start: --root-dir=/r --config=a.yaml" in notes.getvalue()


def test_an_agent_that_refuses_the_caller_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*given: object, **more: object) -> object:
        raise CommandError(REFUSED, "permission denied")

    monkeypatch.setattr(Context, "ask", ask)
    with pytest.raises(CommandError, match="permission denied"), as_started(["--root-dir=/r"], where, io.StringIO()):
        pass
