"""What `make` builds of these sources, for tests that may run side by side."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[2]


def make(*words: str, seconds: float, environment: Mapping[str, str] | None = None) -> str:
    """The output of `make` in the sources, one at a time: each makes the same wheel in the same directory."""
    with (SOURCES / "Makefile").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", *words], cwd=SOURCES, env={**os.environ, **(environment or {})},
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
