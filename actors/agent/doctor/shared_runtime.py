"""Other agents of this host on the same container runtime: each ends the pods of the other, as kubelets do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.config.start import start_records
from supervision.protocol import Tree

from .finding import Finding, failure

_RUNTIME: Final = "container runtime"


def shared(agent: Agent, others: Iterable[Tree]) -> Iterator[Finding]:
    """`others`: the trees of the other agents that run on this host."""
    for other in others:
        record = start_records.last_of(os.path.dirname(other.incident_file)) if other.incident_file else None
        if record is not None and _place(record.runtime_endpoint) == _place(agent.runtime_endpoint):
            place = quote(record.root_dir)
            yield failure(
                _RUNTIME,
                f"the agent in {place}, pid {other.pid}, has the same one: each ends the pods of the other",
                f"supervise stop --root-dir {place}, or another containerRuntimeEndpoint here",
            )


def _place(endpoint: str) -> str:
    return os.path.realpath(socket_of(endpoint))
