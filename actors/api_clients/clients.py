"""The three clients without an API server: they hold no connection, say so, and log what they would have sent.

Joined to a cluster each is to have a connection, limits and timeouts of its own. The agent cannot join yet: started
with `--kubeconfig` it runs its static pods, as while the server is away, registers no node, and warns of that.
"""

from __future__ import annotations

from typing import cast

from actors.config.agent import Agent
from supervision.actor import Actor, Address, on

from .messages import ClientState, GetClientState, RecordEvent


class _Client(Actor):
    async def on_start(self) -> None:
        if cast(Agent, self.context).standalone:
            self.log.info("standalone: no API server")
        else:
            self.log.warning("joining a cluster is not built yet: the API server of --kubeconfig is not asked")

    @on(GetClientState)
    def on_get_state(self, message: GetClientState, sender: Address) -> ClientState:
        return ClientState(self.name, "standalone" if cast(Agent, self.context).standalone else "joining")


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
