"""What `make` builds of these sources, for tests that may run side by side."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[2]


def make(*words: str, seconds: float, environment: Mapping[str, str] | None = None) -> str:
    """The output of `make` in the sources. What is built goes to the directory that DIST=... of `words` names."""
    assert any(word.startswith("DIST=") for word in words), "several at once would write to one directory"
    done = subprocess.run(
        ["make", *words], cwd=SOURCES, env={**os.environ, **(environment or {})},
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
