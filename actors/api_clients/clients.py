"""The three clients without an API server: they hold no connection, say so, and log what they would have sent.

Joined to a cluster each is to have a connection, limits and timeouts of its own. The agent cannot join yet: started
with `--kubeconfig` it runs its static pods, as while the server is away, registers no node, and warns of that.
"""

from __future__ import annotations

from typing import cast

from actors.config.agent import Agent
from supervision.actor import Actor, Address, on

from .messages import ClientState, GetClientState


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
