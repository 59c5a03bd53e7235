"""The whole agent is killed, or the container runtime."""

from __future__ import annotations

import time

from ..model import Draw, Drawn, Kind, Step
from ..target import Target


def _draw(draw: Draw) -> Drawn:
    return Drawn()


def _restart_runtime(target: Target, step: Step) -> None:
    target.forgive_unready()
    target.node.runtime.restart()


def _kill_fork_server(target: Target, step: Step) -> None:
    """All actors end with it."""
    target.record.killed.append(time.time())
    target.record.fork_server_bytes.clear()
    target.forgive_unready()
    target.node.kill_fork_server_and_start()


KINDS: tuple[Kind[Target], ...] = (
    Kind("runtime", 2, _draw, _restart_runtime),
    Kind("fork_server", 2, _draw, _kill_fork_server),
)
