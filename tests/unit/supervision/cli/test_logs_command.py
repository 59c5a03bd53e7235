"""`supervise logs` finds the log of an agent, and the lines that are young enough."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.argument_types import ALL_LINES
from supervision.cli.command import NO_ANSWER, CommandError, Context
from supervision.cli.log_sources import journal_unit, of_file, of_journal, stderr_file
from supervision.cli.log_times import time_of, younger
from supervision.cli.logs import lines_of, run

NOW = time.mktime((2026, 3, 10, 12, 0, 0, 0, 0, -1))
"""Local time."""


def head(moment: float) -> str:
    return f"I{time.strftime('%m%d %H:%M:%S', time.localtime(moment))}.250000    1234 a.py:1] "


def test_the_file_that_takes_an_agents_stderr_is_found(tmp_path: Path) -> None:
    waits = [sys.executable, "-c", "input()"]
    log = tmp_path / "agent.log"
    with log.open("w") as out, subprocess.Popen(waits, stdin=subprocess.PIPE, stderr=out) as agent:
        assert stderr_file(agent.pid) == str(log)
        assert journal_unit(agent.pid) == ""
        agent.kill()
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as agent:
        assert stderr_file(agent.pid) == ""
        agent.kill()
    assert stderr_file(0) == ""


def test_the_log_of_an_agent_that_does_not_run_is_that_of_its_last_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "agent.log"
    log.write_text(f'{head(NOW)}"one" logger="pleg"\n{head(NOW)}"two" logger="pod_workers/worker/0"\n')
    files = AgentFiles(tmp_path / "run", tmp_path / "i", last_start=lambda: LastStart((), "", str(log)))
    arguments = argparse.Namespace(
        actor="worker/0", follow=False, file="", level=None, since=0.0, lines=None, output="text", timeout=1.0,
        root_dir="/r", run_dir="",
    )  # fmt: skip
    assert run(Context(arguments, lambda _: files)) == 0
    out, err = capsys.readouterr()
    assert '"two"' in out
    assert '"one"' not in out
    assert f"no agent runs; this is {log}" in err
    arguments.follow = True
    with pytest.raises(CommandError, match="no agent is running"):
        run(Context(arguments, lambda _: files))


def test_the_log_of_an_agent_that_does_not_answer_is_read_and_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(context: Context) -> None:
        raise CommandError(NO_ANSWER, "the fork server does not answer {x}")

    monkeypatch.setattr(Context, "tree", silent)
    log = tmp_path / "agent.log"
    log.write_text(f'{head(NOW)}"one" logger="pleg"\n')
    files = AgentFiles(tmp_path / "run", tmp_path / "i", last_start=lambda: LastStart((), "", str(log)))
    arguments = argparse.Namespace(
        actor="", follow=False, file="", level=None, since=0.0, lines=None, output="text", timeout=1.0,
        root_dir="/r", run_dir="",
    )  # fmt: skip
    assert run(Context(arguments, lambda _: files)) == 0
    out, err = capsys.readouterr()
    assert '"one"' in out
    assert err == f"supervise: the fork server does not answer {{x}}; this is {log}\n"


def test_a_journal_is_used_only_if_systemd_connects_stderr_to_it() -> None:
    read, write = os.pipe()
    stream = os.fstat(write)
    waits = [sys.executable, "-c", "input()"]
    other = {"JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino + 1}"}
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stderr=write, env=other) as agent:
        assert journal_unit(agent.pid) == ""
        agent.kill()
    for end in (read, write):
        os.close(end)
    assert journal_unit(0) == ""


def test_the_journal_of_the_unit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "journalctl"
    fake.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with of_journal("troupelet.service", follow=False, since=0.0) as (there, coming):
        words = [line.strip() for line in there]
        assert not list(coming)
    assert words == ["--unit=troupelet.service", "--output=cat", "--no-pager", "--quiet", "--lines=all"]
    with of_journal("a.service", follow=True, since=12.5) as (there, coming):
        assert not list(there)
        assert [line.strip() for line in coming][-2:] == ["--since=@12.500000", "--follow"]


def test_both_log_formats_have_the_time_of_a_line() -> None:
    assert time_of(head(NOW - 3600) + '"x"', NOW) == NOW - 3600 + 0.25
    assert time_of('{"ts":1763669270000.5,"msg":"x"}', NOW) == 1763669270.0005
    for line in ("Traceback (most recent call last):", "", "{", '{"ts":"x"}', "[1]", "I1399 99:99:99.000000 x"):
        assert time_of(line, NOW) is None


def test_a_line_of_december_is_of_last_year() -> None:
    december = time.mktime((2025, 12, 31, 23, 59, 0, 0, 0, -1))
    assert time_of(head(december) + "x", NOW) == december + 0.25
    leap_day = time.mktime((2024, 2, 29, 1, 0, 0, 0, 0, -1))
    assert time_of(head(leap_day) + "x", NOW) == leap_day + 0.25


def test_continuation_lines_have_the_age_of_their_line() -> None:
    lines = ["before", head(NOW - 600) + "old", "of old", head(NOW - 60) + "new", "of new"]
    assert [line.rsplit(" ", 2)[-1] for line in younger(lines, NOW - 300, NOW)] == ["new", "new"]
    assert list(younger(lines, NOW - 300, NOW))[1] == "of new"


def test_all_lines_since_a_moment_are_shown_unless_a_number_is_given() -> None:
    def lines(lines: int | None, since: float) -> int:
        return lines_of(argparse.Namespace(lines=lines, since=since))

    assert [lines(None, 0.0), lines(None, 5.0), lines(7, 5.0), lines(0, 0.0)] == [100, ALL_LINES, 7, 0]


def test_a_file_that_is_not_followed_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n")
    with of_file(log, follow=False) as (there, coming):
        assert [*there, *coming] == ["one\n", "two\n"]


def reading(file: Path, *, actor: str = "", as_json: bool = False, follow: bool = False) -> Context:
    output, where = "json" if as_json else "text", AgentFiles(file.parent, file)
    arguments = argparse.Namespace(
        level=None, since=0.0, lines=None, actor=actor, follow=follow, file=str(file), output=output
    )
    return Context(arguments, lambda _: where)


def test_the_absence_of_lines_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log"
    file.write_text(f'{head(NOW)}"x" logger="pleg"\n')
    assert run(reading(file, actor="prober")) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"supervise: no lines of prober in {file}\n")
    assert run(reading(file, actor="pleg")) == 0
    assert capsys.readouterr().err == ""


def test_lines_that_are_followed_are_not_json(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="-f and -o json exclude each other"):
        run(reading(tmp_path / "log", as_json=True, follow=True))
