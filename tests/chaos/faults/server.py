"""The API server fails its node, is slow, forgets, or is away; the node stays Ready, and no status goes back."""

from __future__ import annotations

import contextlib
import signal

from ..cluster import USER, Cluster
from ..cluster_checks import NOT_BACK, STAYS_READY
from ..model import Draw, Drawn, Kind, Step

FAULTS: dict[str, tuple[dict[str, object], ...]] = {
    "slow": ({"kind": "delay", "seconds": 0.7, "times": 20},),
    "too many requests": ({"kind": "status", "code": 429, "retry_after": 1, "times": 6},),
    "unavailable": ({"kind": "status", "code": 503, "times": 15},),
    "broken": ({"kind": "status", "code": 500, "verb": "patch", "times": 8},),
    "conflicts": ({"kind": "conflict", "verb": "patch", "times": 8},),
    "answers lost": ({"kind": "lost", "verb": "patch", "times": 6}, {"kind": "lost", "verb": "delete", "times": 3}),
    "hung writes": ({"kind": "hang", "verb": "patch", "times": 2},),
    "watches cut": ({"kind": "cut", "verb": "watch", "seconds": 0.3, "times": 8},),
    "watches refused": ({"kind": "status", "verb": "watch", "code": 503, "times": 6},),
    "watches not understood": ({"kind": "status", "verb": "watch", "code": 400, "times": 6},),
    "pages of a proxy": ({"kind": "answer", "code": 200, "body": "<html>Log in</html>", "times": 12},),
    "watches expired": ({"kind": "expired", "verb": "watch", "times": 4},),
    "stale lists": (
        {"kind": "stale", "verb": "list", "revisions": 8, "times": 2},
        {"kind": "cut", "verb": "watch", "seconds": 0.1, "times": 3},
    ),
}
"""What is ordered of the server (tests/support/apiserver/faults.py), towards the node only."""
UNREACHABLE_SECONDS = (2.0, 6.0, 20.0)
HOW = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}


def _draw_fault(draw: Draw) -> Drawn:
    return Drawn(what=draw.rng.choice(list(FAULTS)))


def _order(cluster: Cluster, step: Step) -> None:
    for order in FAULTS[step.what]:
        with contextlib.suppress(OSError):
            cluster.server.fault(user=USER, **order)  # type: ignore[arg-type]


def _drop(cluster: Cluster, step: Step) -> None:
    cluster.server.drop_connections()


def _forget(cluster: Cluster, step: Step) -> None:
    """Every version is too old."""
    cluster.server.order("POST", "compact")
    cluster.server.order("POST", "end-watches")


def _draw_away(draw: Draw) -> Drawn:
    return Drawn(what=draw.rng.choice(list(HOW)), seconds=draw.rng.choice(UNREACHABLE_SECONDS))


def _take_away(cluster: Cluster, step: Step) -> None:
    cluster.watching.away = True
    cluster.server.signal(HOW[step.what])


def _bring_back(cluster: Cluster, step: Step) -> None:
    cluster.bring_server_back()


HOLDS = (STAYS_READY, NOT_BACK)
KINDS: tuple[Kind[Cluster], ...] = (
    Kind("server", 8, _draw_fault, _order, holds=HOLDS, needs_server=True),
    Kind("connections dropped", 1, lambda draw: Drawn(), _drop, holds=HOLDS, needs_server=True),
    Kind("history forgotten", 1, lambda draw: Drawn(), _forget, holds=HOLDS, needs_server=True),
    Kind("server away", 2, _draw_away, _take_away, _bring_back, holds=HOLDS, takes_server=True),
)
