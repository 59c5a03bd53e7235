"""What was done in a chaos run, and what was seen on the way, for the judgement at its end."""

from __future__ import annotations

from dataclasses import dataclass, field

import psutil

from supervision.incidents.incident import Incident
from tests.support.faulty_node import FaultyNode

from .invariants import Injected
from .workload import Wanted


@dataclass
class RunRecord:
    wanted: dict[str, Wanted] = field(default_factory=dict)
    injected: list[Injected] = field(default_factory=list)
    killed: list[float] = field(default_factory=list)
    """When the whole agent was: seconds since 1970."""
    incidents: dict[tuple[str, int, str], Incident] = field(default_factory=dict)
    word: int = 0
    """What secret and config map say."""
    unlike: list[str] = field(default_factory=list)
    """What did not hold when something was done."""
    fork_server_fds: int = 0
    fork_server_bytes: list[int] = field(default_factory=list)
    """Of the fork server that is there now, from its start on."""

    def look(self, node: FaultyNode) -> None:
        """At incidents, of which only the newest are kept in the file, and at the fork server."""
        for one in node.incidents():
            self.incidents[one.actor, one.pid, one.time] = one
        fork_server = psutil.Process(node.fork_server_pid)
        self.fork_server_fds = max(self.fork_server_fds, fork_server.num_fds())
        self.fork_server_bytes.append(fork_server.memory_info().rss)

    @property
    def figures(self) -> dict[str, object]:
        return {"incidents": len(self.incidents), "fork_server_fds": self.fork_server_fds,
                "fork_server_bytes": self.fork_server_bytes[-1:]}  # fmt: skip
