"""The whole agent is killed, or the container runtime."""

from __future__ import annotations

import time

from ..model import Draw, Drawn, Kind, Step
from ..world import World


def _draw(draw: Draw) -> Drawn:
    return Drawn()


def _restart_runtime(world: World, step: Step) -> None:
    world.forgive_unready()
    world.node.runtime.restart()


def _kill_fork_server(world: World, step: Step) -> None:
    """All actors end with it."""
    world.course.killed.append(time.time())
    world.course.fork_server_bytes.clear()
    world.forgive_unready()
    world.node.kill_fork_server_and_start()


KINDS: tuple[Kind[World], ...] = (
    Kind("runtime", 2, _draw, _restart_runtime),
    Kind("fork_server", 2, _draw, _kill_fork_server),
)
