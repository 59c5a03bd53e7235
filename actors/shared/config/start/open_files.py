"""Whether the files that a managed containerd may open are enough for the pods that it has to run. maxOpenFiles is the
agent's own limit, as the kubelet's is; containerd gets more, as its own unit gives it.

Counted on containerd 1.6, 1.7 and 2.1: 20 files of its own, one connection for each actor that calls it, and twelve for
a pod with one container: the connections to its shims, pipes, and logs.
"""

from __future__ import annotations

import os
from typing import Final

from actors.shared.config.agent import Agent

LEAST: Final = 128
"""The fork server has some three for each actor. With fewer it can neither start all actors nor tell why."""
OF_ANY_RUNTIME: Final = 1_000_000
"""What a managed containerd may open if its hard limit allows: as many as maxOpenFiles is by default."""
OF_RUNTIME: Final = 48
"""The files that a containerd without pods opens, with room for a few commands and pulls."""
OF_POD: Final = 12
"""The files for a pod with one container; each further container takes six."""


def shortage(agent: Agent, granted: int) -> str:
    """Why `granted` open files of a managed runtime are too few for the pods that the node may have; '': they are
    enough, or the runtime is not managed, so has a limit of its own."""
    wanted = _most_pods(agent)
    if not agent.managed_runtime or granted >= OF_RUNTIME + OF_POD * wanted:
        return ""
    needed, pods = OF_RUNTIME + OF_POD * wanted, (granted - OF_RUNTIME) // OF_POD
    return (
        f"{granted} open files are granted, and the managed containerd needs {needed} for {wanted} pods: it has enough "
        f"for {pods}; with more, pods do not start, and it is restarted: raise LimitNOFILE or ulimit -n, or lower "
        "maxPods"
    )


def _most_pods(agent: Agent) -> int:
    config = agent.config
    per_core = config.podsPerCore * (os.cpu_count() or 1)
    return min(config.maxPods, per_core) if per_core > 0 else config.maxPods
