"""The serving pair that the cluster signs (serverTLSBootstrap): its request for the node's addresses, its rotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.shared.api.access import ServerAccess
from actors.shared.config.agent import Agent
from supervision.actor import Actor

from . import signing_request
from .certificate import Certificate, UnusableCertificate
from .certificate_requester import CertificateRequester
from .certificate_store import CertificateStore, Pair, WatchedStore, load_pair
from .client_plan import ORGANIZATION, node_user
from .clocks import CertificateClocks
from .messages import NodeAddresses
from .request_attempt import RequestTemplate
from .serving_plan import names_to_sign, to_request

ERRORS: Final = "kubelet_server_expiration_renew_errors"
ROTATION: Final = "kubelet_certificate_manager_server_rotation_seconds"
HOUR, DAY = 3600.0, 86400.0


class SignedServing:
    """`access` returns the access to the API server, if any; `changed` is called for each new pair."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        access: Callable[[], ServerAccess | None],
        changed: Callable[[], None],
        clocks: CertificateClocks,
    ) -> None:
        self._actor, self._agent, self._access, self._changed, self._clocks = actor, agent, access, changed, clocks
        self._store = CertificateStore(agent.cert_dir, "kubelet-server")
        self._watched_store = WatchedStore(self._store)
        self._user = node_user(agent.node_name)
        self._addresses: NodeAddresses | None = None
        self._reported = False
        self.pair: Pair | None = None
        title = "serving certificate"
        self._requester = CertificateRequester(
            actor, title, self._template, self._use_installed, lambda: actor.metrics.count(ERRORS), clocks
        )

    @property
    def files(self) -> tuple[str, str]:
        """Empty while there is no pair."""
        return (self.pair.cert_file, self.pair.key_file) if self.pair is not None else ("", "")

    @property
    def certificate(self) -> Certificate | None:
        return self.pair.certificate if self.pair is not None else None

    def wake(self) -> None:
        """Check whether a certificate must be requested now."""
        self._requester.wake()

    def settle(self) -> bool:
        """Read the store, and request a certificate if one is needed. Returns whether there is a pair to serve with."""
        self.pair = self._read_store() or self._read_given_pair()
        if self.pair is None and not self._reported:
            self._reported = True
            self._actor.log.info("serverTLSBootstrap: the node server opens when the cluster has signed a certificate")
        self.wake()
        return self.pair is not None

    def update_addresses(self, addresses: NodeAddresses) -> None:
        """The node's addresses have changed."""
        self._addresses = addresses
        self.wake()

    def _read_store(self) -> Pair | None:
        try:
            return self._watched_store.pair(self._clocks.wall())
        except OSError as error:
            self._actor.log.error("%s: %s", self._store.current_path, error)
            return None

    def _read_given_pair(self) -> Pair | None:
        """The operator's pair, which serves until the first one is signed."""
        agent = self._agent
        if not agent.serving_cert_given:
            return None
        try:
            return load_pair(agent.serving_cert_file, agent.serving_key_file)
        except (OSError, UnusableCertificate):
            return None

    def _template(self) -> RequestTemplate | None:
        access, addresses = self._access(), self._addresses
        if access is None or addresses is None:
            return None
        names = names_to_sign(addresses.ips, addresses.names, dns_only=self._agent.gate("AllowDNSOnlyNodeCSR"))
        if not names or not to_request(self.certificate, self._user, names, self._clocks.wall()):
            return None
        return RequestTemplate(
            store=self._store,
            signer=signing_request.SERVING_SIGNER,
            usages=("digital signature", "server auth"),
            user=self._user,
            group=ORGANIZATION,
            names=names,
            access=access,
            content_type=self._agent.config.contentType,
        )

    async def _use_installed(self) -> None:
        before = self.certificate
        if before is not None:
            self._actor.metrics.observe(ROTATION, self._clocks.wall() - before.not_before)
        self.pair = self._read_store()
        self._changed()
