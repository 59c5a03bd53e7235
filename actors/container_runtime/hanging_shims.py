"""Ends shims of the runtime that answer no more, as one does that is stopped by a signal. For a disposable process."""

from __future__ import annotations

import time

from . import leaked_shims


def end(socket: str, ids: list[str]) -> list[str]:
    """Kill the shims that were started for these sandboxes or containers, with the processes below them; the ids of
    those found. containerd then records the end of what they had."""
    found = [shim for shim in leaked_shims.running(socket, time.time()) if shim.id in ids]
    leaked_shims.end(found)
    return [shim.id for shim in found]
