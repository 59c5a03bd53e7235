"""What code leaves in its process, looked for in an interpreter of its own: no other test is at work there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress
from typing import Any


def left_by(code: str, *, after: str = "") -> list[str]:
    """What is open, runs or is set once `code` has run that was not before it, or was and is no longer.

    `after`: what is done first and may leave what it likes. Raises AssertionError when either of them fails.
    """
    script = "\n".join(
        (
            "import json",
            f"from {__name__} import held",
            textwrap.dedent(after),
            "before = held()",
            textwrap.dedent(code),
            "print(json.dumps(sorted(held() ^ before)))",
        )
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: Any = json.loads(done.stdout)
    return list(found)


def held() -> set[str]:
    """Descriptors with what they are of, threads, children and a profiler."""
    found = {f"thread {thread.name}" for thread in threading.enumerate()}
    found |= {f"profiler {profiler}" for profiler in [sys.getprofile()] if profiler}
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # of the listing itself
            found.add(f"{fd} of {os.readlink(f'/proc/self/fd/{fd}')}")
    children = f"/proc/self/task/{threading.get_native_id()}/children"
    with suppress(FileNotFoundError), open(children) as file:  # a kernel may be built without
        found |= {f"child {pid}" for pid in file.read().split()}
    return found
