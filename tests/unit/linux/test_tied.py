from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from actors.linux.tied import tied

STARTER = """
import subprocess, sys, time
from actors.linux.tied import tied
print(subprocess.Popen(tied(["sleep", "300"])).pid, flush=True)
time.sleep(300)
"""


def test_a_command_ends_with_who_started_it_even_by_sigkill():
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    wait_for(lambda: "sleep" in Path(f"/proc/{pid}/cmdline").read_text())
    starter.kill()
    starter.communicate()
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or "Z" in state(pid))


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_without_setpriv_it_is_the_command_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tied(["sleep", "300"]) == ["sleep", "300"]
