"""The serving pair that the cluster signs (serverTLSBootstrap): asked for by the node's addresses, and rotated."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from actors.shared.api.access import Access
from actors.shared.config.agent import Agent
from supervision.actor import Actor

from . import signing_request
from .certificate import BadCertificate, Certificate
from .certificate_request import Order, Pursuit
from .certificate_store import Followed, Pair, Store, load_pair
from .client_plan import ORGANIZATION, node_user
from .messages import NodeAddresses
from .serving_plan import names_to_sign, to_request

ERRORS: Final = "kubelet_server_expiration_renew_errors"
ROTATION: Final = "kubelet_certificate_manager_server_rotation_seconds"
HOUR, DAY = 3600.0, 86400.0
AGES: Final = (60.0, HOUR, 4 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY, 1440 * DAY)


class SignedServing:
    """`access` gives the way to the API server, None while there is none; `changed` is called for each new pair."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        access: Callable[[], Access | None],
        changed: Callable[[], None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._actor, self._agent, self._access, self._changed, self._wall = actor, agent, access, changed, wall
        self.store = Store(agent.cert_dir, "kubelet-server")
        self._followed = Followed(self.store)
        self._user = node_user(agent.node_name)
        self._addresses: NodeAddresses | None = None
        self._said_waiting = False
        self.pair: Pair | None = None
        self.pursuit = Pursuit(actor, "serving certificate", self._wanted, self._installed)
        self.pursuit.wall = wall
        self.pursuit.failed = lambda: actor.metrics.count(ERRORS)

    @property
    def files(self) -> tuple[str, str]:
        """Empty while there is no pair."""
        return (self.pair.cert_file, self.pair.key_file) if self.pair is not None else ("", "")

    @property
    def certificate(self) -> Certificate | None:
        return self.pair.certificate if self.pair is not None else None

    def settle(self) -> bool:
        """See what is in the store, and ask for what is wanting. Whether there is a pair to serve with."""
        self.pair = self._stored() or self._given()
        if self.pair is None and not self._said_waiting:
            self._said_waiting = True
            self._actor.log.info("serverTLSBootstrap: the node server opens when the cluster has signed a certificate")
        self.pursuit.wake()
        return self.pair is not None

    def addressed(self, addresses: NodeAddresses) -> None:
        """These are the node's addresses by now."""
        self._addresses = addresses
        self.pursuit.wake()

    def _stored(self) -> Pair | None:
        try:
            return self._followed.pair(self._wall())
        except OSError as error:
            self._actor.log.error("%s: %s", self.store.current_path, error)
            return None

    def _given(self) -> Pair | None:
        """The operator's files serve until the first one is signed."""
        agent = self._agent
        if not agent.serving_cert_given:
            return None
        try:
            return load_pair(agent.serving_cert_file, agent.serving_key_file)
        except (OSError, BadCertificate):
            return None

    def _wanted(self) -> Order | None:
        access, known = self._access(), self._addresses
        if access is None or known is None:
            return None
        names = names_to_sign(known.ips, known.names, dns_only=self._agent.gate("AllowDNSOnlyNodeCSR"))
        if not names or not to_request(self.certificate, self._user, names, self._wall()):
            return None
        return Order(
            store=self.store,
            signer=signing_request.SERVING_SIGNER,
            usages=("digital signature", "server auth"),
            user=self._user,
            group=ORGANIZATION,
            names=names,
            access=access,
        )

    async def _installed(self, order: Order) -> None:
        before = self.certificate
        if before is not None:
            self._actor.metrics.observe(ROTATION, self._wall() - before.not_before, AGES)
        self.pair = self._stored()
        self._changed()
