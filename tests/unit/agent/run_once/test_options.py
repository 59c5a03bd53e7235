"""The options of `supervise run-once` that are not flags of start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent.run_once import TIMEOUT_SECONDS, _options, run
from supervision.fork_server.lock import Lock


@pytest.mark.parametrize("words", [["--timeout=60", "-o", "json"], ["--timeout", "60", "-ojson"]])
def test_options_are_accepted_with_a_space_or_an_equals_sign(words: list[str]) -> None:
    assert _options([*words, "--port=0"]) == (60.0, True, ["--port=0"])
    assert _options(["--port=0"]) == (TIMEOUT_SECONDS, False, ["--port=0"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--timeout", "soon"], "--timeout = soon: must be a number of seconds above 0"),
        (["--timeout=-1"], "--timeout = -1: must be a number of seconds above 0"),
        (["-o", "yaml"], "--output = yaml: must be text or json"),
    ],
)
def test_a_wrong_value_is_one_clear_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 1
    assert capsys.readouterr().err == f"error: {error}\n"


def test_run_once_beside_a_running_agent_starts_nothing_and_reports_none_of_its_pods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "troupelet").mkdir()
    lock = Lock(tmp_path / "troupelet")
    assert run([f"--root-dir={tmp_path}", "--fail-cgroupv1=false"]) == 1
    said = capsys.readouterr()
    assert (said.out, f"an agent with pid {os.getpid()} runs on {tmp_path}" in said.err) == ("", True)
    lock.release()
