from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from actors.shared.linux.parent_death import ends_with_parent
from tests.support.waiting import wait_for

STARTER = """
import subprocess, sys, time
from actors.shared.linux.parent_death import ends_with_parent
print(subprocess.Popen(ends_with_parent(["sleep", "300"]), stdout=subprocess.DEVNULL).pid, flush=True)
time.sleep(float(sys.argv[1]))
"""


def test_a_command_ends_with_who_started_it_even_by_sigkill():
    with subprocess.Popen([sys.executable, "-c", STARTER, "300"], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        wait_for(lambda: command(pid) == ["sleep", "300"])
        starter.kill()
    wait_for(lambda: command(pid) == [])


def _is_gone(pid: int) -> bool:
    return not command(pid)


def test_a_command_ends_if_its_starter_ended_first():
    for _ in range(5):
        output = subprocess.check_output([sys.executable, "-c", STARTER, "0"])
        pid = int(output)
        wait_for(partial(_is_gone, pid))


def test_the_command_is_run_with_its_words_as_they_are():
    words = ["%s|", "a b", "$PPID", "", "--", "é"]
    assert subprocess.check_output(ends_with_parent(["printf", *words])).decode() == "a b|$PPID||--|é|"


def test_the_command_is_unchanged_without_setpriv(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ends_with_parent(["sleep", "300"]) == ["sleep", "300"]


def command(pid):
    """Its words; none when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []
