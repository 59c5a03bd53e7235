"""The options of `supervise run-once` that are not flags of start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent.run_once import TIMEOUT_SECONDS, _options, _source_text, run
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.cli.command import REFUSED
from supervision.fork_server.lock import Lock


@pytest.mark.parametrize("words", [["--timeout=60", "-o", "json"], ["--timeout", "60", "-ojson"]])
def test_options_are_accepted_with_a_space_or_an_equals_sign(words: list[str]) -> None:
    assert _options([*words, "--port=0"]) == (60.0, "json", ["--port=0"])
    assert _options(["--port=0"]) == (TIMEOUT_SECONDS, "", ["--port=0"])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--timeout", "soon"], "--timeout = soon: must be a number of seconds above 0"),
        (["--timeout=-1"], "--timeout = -1: must be a number of seconds above 0"),
        (["-o", "wide"], "--output = wide: must be text or json or yaml"),
    ],
)
def test_a_wrong_value_is_one_clear_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err == f"error: {error}\n"


def test_a_user_who_may_not_write_the_root_directory_gets_the_command_with_sudo_and_no_agent_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--root-dir={tmp_path}/node", "--fail-cgroupv1=false"]
    monkeypatch.setattr("actors.agent.run_once._start_agent", lambda flags: pytest.fail("it was started"))
    monkeypatch.setattr("os.access", lambda path, mode: path != str(tmp_path))
    monkeypatch.setattr("sys.argv", ["/usr/bin/supervise", "run-once", *words])
    assert run(words) == REFUSED
    command = f"`sudo supervise run-once {words[0]} {words[1]}`"
    assert capsys.readouterr().err == f"error: permission denied: {tmp_path} is another user's; try {command}\n"


def test_run_once_beside_a_running_agent_starts_nothing_and_reports_none_of_its_pods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "troupelet").mkdir()
    lock = Lock(tmp_path / "troupelet")
    assert run([f"--root-dir={tmp_path}", "--fail-cgroupv1=false"]) == 1
    said = capsys.readouterr()
    assert (said.out, f"an agent with pid {os.getpid()} runs on {tmp_path}" in said.err) == ("", True)
    lock.release()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (KubeletConfiguration(), "neither staticPodPath nor staticPodURL is set"),
        (KubeletConfiguration(staticPodPath="/p", staticPodURL="http://h"), "nothing in /p or http://h"),
    ],
)
def test_without_static_pods_it_names_where_they_would_come_from(config: KubeletConfiguration, text: str) -> None:
    assert _source_text(Agent(config=config)) == text
