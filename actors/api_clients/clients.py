"""The three clients in standalone mode: they hold no connection, say so, and log what they would have sent.

Joined to a cluster each has a connection, limits and timeouts of its own; until the agent can join (`--kubeconfig`), it
refuses to start with one rather than run pods that nobody scheduled.
"""

from __future__ import annotations

from typing import cast

from actors.config.agent import Agent
from supervision.actor import Actor, Address, on

from .messages import ClientState, GetClientState, RecordEvent


class _Client(Actor):
    async def on_start(self) -> None:
        self.log.info("standalone: no API server")

    @on(GetClientState)
    def on_get_state(self, message: GetClientState, sender: Address) -> ClientState:
        return ClientState(self.name, "standalone" if cast(Agent, self.context).standalone else "joined")


class KubeClient(_Client):
    """List, watch and patch of pods, node, secrets, config maps."""


class HeartbeatClient(_Client):
    """Node lease and node status."""


class EventClient(_Client):
    """Events. Each is also a line of the log, as in the reference."""

    @on(RecordEvent)
    def on_event(self, message: RecordEvent, sender: Address) -> None:
        subject = f"{message.namespace}/{message.name}".lstrip("/")
        self.metrics.count("troupelet_events_total", type=message.type, reason=message.reason)
        log = self.log.warning if message.type == "Warning" else self.log.info
        log('event %s %s %s: "%s" %s', message.kind, subject, message.reason, message.message, message.field)
