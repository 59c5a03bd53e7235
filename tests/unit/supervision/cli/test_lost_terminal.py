"""Work that must not be left half done goes on when nobody reads; so does a command whose exit code is an answer."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
WORK = """
import sys
from pathlib import Path
from supervision.cli.streams import finishing
with finishing():
    print("begun")
    sys.stdin.read()
    print("half")
    print("half", file=sys.stderr)
    Path(sys.argv[1]).write_text("whole")
"""


def test_the_work_is_finished_after_the_terminal_was_closed(tmp_path: Path) -> None:
    done = tmp_path / "done"
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", WORK, str(done)]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        assert b"begun" in os.read(ours, 100)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
    assert done.read_text() == "whole"


def test_the_work_is_finished_after_the_pipe_is_closed(tmp_path: Path) -> None:
    done = tmp_path / "done"
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-c", WORK, str(done)]
    subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=write, stderr=write, check=True, timeout=30)
    os.close(write)
    assert done.read_text() == "whole"


ANSWER = """
import sys
from supervision.cli.streams import guarded
def run():
    stream = getattr(sys, sys.argv[1])
    for _ in range(5):
        stream.write("x" * 100_000)
    return 3
sys.exit(guarded(run))
"""
FOLLOWED = """
import sys
from supervision.cli.streams import guarded
def run():
    while True:
        print("line", flush=True)
sys.exit(guarded(run))
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_exit_code_is_the_answer_though_nobody_reads_the_text(stream: str) -> None:
    assert exit_code_without_a_reader(ANSWER, stream) == 3


def test_a_command_that_follows_ends_when_its_reader_does() -> None:
    assert exit_code_without_a_reader(FOLLOWED) == 0


def exit_code_without_a_reader(program: str, *words: str) -> int:
    read, write = os.pipe()
    os.close(read)
    call = [sys.executable, "-c", program, *words]
    ended = subprocess.run(
        call, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=write, stderr=write, check=False, timeout=30
    )
    os.close(write)
    return ended.returncode
