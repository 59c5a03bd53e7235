"""Sends the actors that use the API server their credentials when these change."""

from __future__ import annotations

from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.api_clients.kube_client.messages import KUBE_CLIENT
from actors.api_clients.messages import CredentialsChanged
from supervision.actor import Actor
from supervision.addresses import ActorName

from .client_plan import KubeconfigAction
from .client_state import ClientState

CLIENTS: Final = (KUBE_CLIENT, HEARTBEAT_CLIENT, EVENT_CLIENT)


class ClientCredentials:
    """The credentials that were last sent to the clients."""

    def __init__(self, actor: Actor, kubeconfig: str) -> None:
        self._actor, self._kubeconfig = actor, kubeconfig
        self._identity: tuple[object, ...] = ()
        self._message: CredentialsChanged | None = None

    def publish(self, state: ClientState) -> bool:
        """Send the credentials if they have changed; returns whether they have."""
        if state.access is None:
            return False
        fingerprint = state.certificate.fingerprint if state.certificate is not None else ""
        identity = (state.stamps, state.access.cert_file, fingerprint)
        if identity == self._identity:
            return False
        self._identity = identity
        version = self._message.version + 1 if self._message is not None else 1
        path = state.access.cert_file if state.action is KubeconfigAction.ADOPT else ""
        self._message = CredentialsChanged(self._kubeconfig, version, path)
        for client in CLIENTS:
            self._actor.tell(client, self._message, deadline=60.0)
        return True

    def greet(self, name: ActorName) -> None:
        """Send the credentials to a client that has started."""
        if name in CLIENTS and self._message is not None:
            self._actor.tell(name, self._message)
