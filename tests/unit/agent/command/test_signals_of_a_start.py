"""What a signal that is no order does in the first seconds of `supervise start`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.agent_command import SOURCES

FIRST_STEP = """
import os, subprocess, sys, types

def bring_names_together(names):
    from supervision.fork_server.early_signals import DUMP, NO_ORDERS
    assert "typing" not in sys.modules, "nothing is imported before"
    for number in (DUMP, *NO_ORDERS):
        os.kill(os.getpid(), number)
    sys.exit(subprocess.run(["grep", "SigIgn", "/proc/self/status"], check=True).returncode)

sys.modules["supervision.fork_server.name_layout"] = types.SimpleNamespace(bring_names_together=bring_names_together)
from actors.agent.command import main
main(["start"])
"""
NOT_OURS = 1 << 12 | 1 << 24 | 1 << 31 | 1 << 32
"""In a mask of signals: SIGPIPE and SIGXFSZ, which Python ignores, and two of the C library, which no program can
handle and some (make) leave ignored to what they start."""


@pytest.mark.slow
def test_no_signal_that_is_no_order_ends_a_start_or_is_ignored_by_what_it_starts():
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_STEP], capture_output=True, text=True, env=environment, cwd="/", check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout.split()[1], 16) & ~NOT_OURS == 0
