"""Keeps the node NotReady while a managed container runtime gives its pods addresses that are not this node's."""

from __future__ import annotations

from collections.abc import Callable

from supervision.actor import Actor
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER

from . import managed_network
from .node_status.fact_sources import FactSources


class NetworkCheck:
    """Two nodes must not have the same pod addresses: until that is sure the node is not ready."""

    def __init__(self, actor: Actor, sources: FactSources, runtime_dir: str, clock: Callable[[], float]) -> None:
        """`runtime_dir`: the root directory of the managed runtime. `clock`: CLOCK_MONOTONIC seconds."""
        self._actor, self._sources, self._runtime_dir, self._clock = actor, sources, runtime_dir, clock
        self._reported: str | None = None
        """The last report; None: this incarnation has reported nothing yet."""

    def update(self, pod_cidr: str) -> None:
        """`pod_cidr`: the node's podCIDRs, joined by commas."""
        problem = managed_network.problem(pod_cidr, managed_network.read(self._runtime_dir))
        text = "" if problem is None else str(problem)
        self._sources.learn_problem(managed_network.SOURCE, text)
        if text == self._reported:
            return
        self._reported = text
        cause, remedy = problem or ("", "")
        self._actor.tell(FORK_SERVER, ServiceState(managed_network.SERVICE, cause, self._clock(), remedy))
        if text:
            self._actor.log.warning("%s", text)
