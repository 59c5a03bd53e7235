"""Specifications of devices (Container Device Interface), as drivers write them for the runtime."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DIRECTORY = Path("/var/run/cdi")
"""Where containerd 2.x looks by itself; earlier ones look nowhere."""


@contextmanager
def specified(kind: str, *devices: str) -> Iterator[None]:
    """Each device is a variable with its name, and /dev/null under /dev/cdi-<name>."""
    edits = [
        {
            "name": name,
            "containerEdits": {
                "env": [f"CDI_{name.upper()}={name}"],
                "deviceNodes": [{"path": f"/dev/cdi-{name}", "hostPath": "/dev/null"}],
            },
        }
        for name in devices
    ]
    there = DIRECTORY.exists()
    DIRECTORY.mkdir(exist_ok=True)
    path = DIRECTORY / f"troupelet-test-{os.getpid()}-{kind.replace('/', '-')}.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"cdiVersion": "0.6.0", "kind": kind, "devices": edits}))
    new.rename(path)
    try:
        yield
    finally:
        path.unlink()
        if not there:
            with suppress(OSError):  # another program's specifications came meanwhile
                DIRECTORY.rmdir()
