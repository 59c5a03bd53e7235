"""Work that must not be left half done goes on when the terminal of its command is closed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

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
