"""The kinds of fault, one module for each thing that is injured. A new kind is an entry of its module's KINDS.

actors   an actor crashes, hangs, leaks ...      agent    the runtime, the fork server
pods     pods come and go, containers end        server   the API server fails, is slow, is away
"""

from __future__ import annotations

from ..cluster import Cluster
from ..model import Kind
from ..target import StaticPods
from . import actors, agent, pods, server

ALONE: tuple[Kind[StaticPods], ...] = (*actors.KINDS, *agent.KINDS, *pods.KINDS, *pods.ALONE)
"""Of an agent without a cluster."""
IN_A_CLUSTER: tuple[Kind[Cluster], ...] = (
    *actors.KINDS,
    *agent.KINDS,
    *pods.KINDS,
    *pods.IN_A_CLUSTER,
    *server.KINDS,
)
