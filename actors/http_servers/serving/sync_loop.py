"""The health check `syncloop`: whether the pod workers run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from actors.pod_workers.messages import is_pod_worker
from actors.shared.cri.service_outage import RUNTIME
from supervision.protocol import Tree

STALE_SECONDS: Final = 300.0
"""The kubelet's limit for its sync loop. The check fails for a pod worker that stays down, not for one that restarts,
which takes a second."""
DOWN_SECONDS: Final = 30.0
"""A runtime without an answer for this long is down."""


def stopped(tree: Tree | None) -> dict[str, float]:
    """The workers and services that are stopped, and for how many seconds. Pure. `tree`: None if unknown."""
    if tree is None:
        return {"fork server": 0.0}
    workers = [actor for actor in tree.actors if is_pod_worker(actor.name)]
    if not workers:
        return {"pod_workers": 0.0}
    # the kubelet's loop does nothing while the runtime is down
    waiting = {one.service: one.seconds - DOWN_SECONDS for one in tree.troubles if one.service == RUNTIME}
    silent = {actor.name: actor.heartbeat_age for actor in workers if actor.heartbeat_age > STALE_SECONDS}
    return {actor.name: 0.0 for actor in workers if actor.state != "running"} | silent | waiting


class SyncLoop:
    """Remembers since when each one is stopped. `clock`: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def failure(self, tree: Tree | None) -> str:
        """'' while the pod workers run, else a text with the ones that have been stopped for too long."""
        now = self._clock()
        self._since = {name: min(self._since.get(name, now), now - age) for name, age in stopped(tree).items()}
        stale = [name for name, since in self._since.items() if now - since > STALE_SECONDS]
        return f"not running: {', '.join(stale)}" if stale else ""
