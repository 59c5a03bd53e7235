"""The actor of docs/write-an-actor.md and its test, as they stand there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.documented_actor import ROOT, write


def test_the_test_of_the_documented_actor_passes(tmp_path: Path) -> None:
    write(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": f"{ROOT}:{tmp_path}"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
