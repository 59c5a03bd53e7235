"""Tells cert_manager the addresses that a serving certificate is to name."""

from __future__ import annotations

from actors.cert_manager.messages import CERT_MANAGER, NodeAddresses
from supervision.actor import Actor

from .node_status.facts import Json


class ServingAddresses:
    """Tells each change once, and the last one again when cert_manager starts."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._reported_addresses = NodeAddresses([], [])

    def tell(self, addresses: list[Json]) -> None:
        """`addresses`: the addresses in the node's status."""
        ips = [one["address"] for one in addresses if one["type"].endswith("IP")]
        names = [one["address"] for one in addresses if not one["type"].endswith("IP")]
        addresses_now = NodeAddresses(ips, names)
        if addresses_now != self._reported_addresses:
            self._reported_addresses = addresses_now
            self._actor.tell(CERT_MANAGER, addresses_now, deadline=60.0)

    def repeat(self) -> None:
        """cert_manager has started."""
        if self._reported_addresses.ips or self._reported_addresses.names:
            self._actor.tell(CERT_MANAGER, self._reported_addresses)
