"""The node's client certificate: its bootstrap and rotation, decided by client_plan.py, and its clients."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from actors.shared.api import kubeconfig
from actors.shared.api.access import ServerAccess
from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError
from supervision.addresses import ActorName

from . import signing_request
from .certificate_requester import CertificateRequester
from .client_credentials import ClientCredentials
from .client_plan import ORGANIZATION, KubeconfigAction, node_user, to_rotate
from .client_report import ClientHealth, ClientReport, health_of
from .client_state import ClientFiles, ClientState
from .clocks import CertificateClocks
from .request_attempt import STORE, WORK_SECONDS, RequestTemplate

TTL: Final = "kubelet_certificate_manager_client_ttl_seconds"
ERRORS: Final = "kubelet_certificate_manager_client_expiration_renew_errors"


class ClientCertificate:
    """Exists on nodes with a kubeconfig. `changed` is called when the access to the API server has changed."""

    def __init__(self, actor: Actor, agent: Agent, clocks: CertificateClocks, changed: Callable[[], None]) -> None:
        self._actor, self._agent, self._clocks, self._changed = actor, agent, clocks, changed
        self._files = ClientFiles(agent)
        self._state = ClientState()
        self._settling = asyncio.Lock()
        self._stored_stamps: tuple[object, ...] = ()
        """Stamps of the kubeconfig whose pair was last put into the store, successfully or not."""
        self._credentials = ClientCredentials(actor, agent.kubeconfig)
        self._report = ClientReport(actor.log, agent)
        title = "client certificate"
        self._requester = CertificateRequester(actor, title, self._template, self._settle, self._count_error, clocks)

    @property
    def access(self) -> ServerAccess | None:
        """The current access to the API server."""
        return self._state.access

    # -- checking --------------------------------------------------------------------------------------------------
    async def look(self) -> None:
        """Read the state of the files and act on it. Cheap when nothing has changed."""
        before = self._state.action
        await self._settle()
        if self._state.action is not before:
            self._requester.retry_now()
        self._requester.wake()

    async def _settle(self) -> None:
        """Act on the state of the files, without a new request. Called after each installed certificate, too."""
        async with self._settling:  # a kubeconfig takes a moment to load
            await self._settle_now()

    async def _settle_now(self) -> None:
        now = self._clocks.wall()
        self._state = await self._files.state(now)
        if self._state.action is KubeconfigAction.WRITE and await self._write_kubeconfig(self._state.bootstrap):
            self._state = await self._files.state(now)
        if self._state.needs_storing and self._state.stamps != self._stored_stamps:
            await self._store_pair()
        self._report.health(health_of(self._state, self._agent))
        if self._credentials.publish(self._state):
            self._changed()
        self._report.validity(self._state.certificate, self._clocks.wall())
        self.measure()

    # -- acting ----------------------------------------------------------------------------------------------------
    async def _write_kubeconfig(self, access: ServerAccess | None) -> bool:
        """Write a kubeconfig that names the store's pair. False when it cannot be written."""
        if access is None:
            return False
        path = self._files.store.current_path
        arguments = {"path": self._agent.kubeconfig, "text": kubeconfig.render(access, path, path)}
        try:
            await self._actor.disposable(f"{STORE}:write_file", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            self._report.health(ClientHealth(True, f"cannot write {self._agent.kubeconfig}: {error}"))
            return False
        self._actor.log.info("wrote %s, which names %s", self._agent.kubeconfig, path)
        return True

    async def _store_pair(self) -> None:
        """Put the kubeconfig's own pair into the store. A failure does no harm: the kubeconfig still has the pair."""
        self._stored_stamps = self._state.stamps
        store = self._files.store
        arguments = {"directory": store.directory, "prefix": store.prefix, "config": self._agent.kubeconfig}
        try:
            await self._actor.disposable(f"{STORE}:store_kubeconfig_pair", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            text = "cannot put the certificate and key of %s into %s: %s"
            self._actor.log.warning(text, self._agent.kubeconfig, store.directory, error)

    def _template(self) -> RequestTemplate | None:
        """The certificate to request now; None for none."""
        access = self._state.bootstrap if self._state.action is KubeconfigAction.BOOTSTRAP else self._rotating_access()
        if access is None:
            return None
        return RequestTemplate(
            store=self._files.store,
            signer=signing_request.CLIENT_SIGNER,
            usages=("digital signature", "client auth"),
            user=node_user(self._agent.node_name),
            group=ORGANIZATION,
            access=access,
            content_type=self._agent.config.contentType,
        )

    def _rotating_access(self) -> ServerAccess | None:
        """The current credentials, if their certificate is due for rotation."""
        certificate, enabled = self._state.certificate, self._agent.config.rotateCertificates
        due = to_rotate(certificate, self._agent.node_name, self._clocks.wall(), enabled=enabled)
        return self._state.access if due else None

    def _count_error(self) -> None:
        self._actor.metrics.count(ERRORS)

    # -- notifying -------------------------------------------------------------------------------------------------
    def greet(self, name: ActorName) -> None:
        """An actor has started."""
        self._credentials.greet(name)

    def measure(self) -> None:
        certificate = self._state.certificate
        left = certificate.not_after - self._clocks.wall() if certificate is not None else math.inf
        self._actor.metrics.gauge(TTL, left)
