"""The node's client certificate: bootstrapped, rotated, and its clients told. client_plan.py decides."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from actors.shared.api import kubeconfig
from actors.shared.api.access import Access
from actors.shared.config.agent import Agent
from supervision.actor import Actor, DisposableError
from supervision.addresses import ActorName

from . import signing_request
from .certificate_requester import CertificateRequester
from .client_credentials import ClientCredentials
from .client_plan import ORGANIZATION, Action, node_user, to_rotate
from .client_report import ClientReport, problem_of
from .client_state import ClientFiles, ClientState
from .clocks import Clocks
from .request_attempt import STORE, WORK_SECONDS, RequestTemplate

TTL: Final = "kubelet_certificate_manager_client_ttl_seconds"
ERRORS: Final = "kubelet_certificate_manager_client_expiration_renew_errors"


class ClientCertificate:
    """Of an agent with a kubeconfig. `changed` is called when the way to the API server has changed."""

    def __init__(self, actor: Actor, agent: Agent, clocks: Clocks, changed: Callable[[], None]) -> None:
        self._actor, self._agent, self._clocks, self._changed = actor, agent, clocks, changed
        self._files = ClientFiles(agent)
        self._state = ClientState()
        self._settling = asyncio.Lock()
        self._kept: tuple[object, ...] = ()
        """Stamps of the kubeconfig whose pair was put in the store, or could not be."""
        self._credentials = ClientCredentials(actor, agent.kubeconfig)
        self._report = ClientReport(actor.log, agent)
        title = "client certificate"
        self._requester = CertificateRequester(actor, title, self._template, self._settle, self._count_error, clocks)

    @property
    def access(self) -> Access | None:
        """How the API server is reached now."""
        return self._state.access

    # -- looking --------------------------------------------------------------------------------------------------
    async def look(self) -> None:
        """See the state of the files and act on it. Cheap when nothing has changed."""
        before = self._state.action
        await self._settle()
        if self._state.action is not before:
            self._requester.retry_now()
        self._requester.wake()

    async def _settle(self) -> None:
        """Also after each certificate that is installed. No request follows then: it might not be the last one."""
        async with self._settling:  # a kubeconfig takes a moment to load
            await self._settle_now()

    async def _settle_now(self) -> None:
        now = self._clocks.wall()
        self._state = await self._files.state(now)
        if self._state.action is Action.WRITE and await self._write_kubeconfig(self._state.bootstrap):
            self._state = await self._files.state(now)
        if self._state.to_keep and self._state.stamps != self._kept:
            await self._keep_pair()
        self._report.problem(problem_of(self._state, self._agent))
        if self._credentials.publish(self._state):
            self._changed()
        self._report.validity(self._state.certificate, self._clocks.wall())
        self.measure()

    # -- doing ----------------------------------------------------------------------------------------------------
    async def _write_kubeconfig(self, access: Access | None) -> bool:
        """Write a kubeconfig that names the store's pair. Whether it was written."""
        if access is None:
            return False
        path = self._files.store.current_path
        arguments = {"path": self._agent.kubeconfig, "text": kubeconfig.render(access, path, path)}
        try:
            await self._actor.disposable(f"{STORE}:write_file", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            self._report.problem(f"cannot write {self._agent.kubeconfig}: {error}")
            return False
        self._actor.log.info("wrote %s, which names %s", self._agent.kubeconfig, path)
        return True

    async def _keep_pair(self) -> None:
        """Put the kubeconfig's own pair in the store. A failure loses nothing: the kubeconfig has it."""
        self._kept = self._state.stamps
        store = self._files.store
        arguments = {"directory": store.directory, "prefix": store.prefix, "config": self._agent.kubeconfig}
        try:
            await self._actor.disposable(f"{STORE}:keep_given", arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            text = "the certificate and key of %s are not put in %s: %s"
            self._actor.log.warning(text, self._agent.kubeconfig, store.directory, error)

    def _template(self) -> RequestTemplate | None:
        """What is to be requested of the API server now."""
        access = self._state.bootstrap if self._state.action is Action.BOOTSTRAP else self._rotating_access()
        if access is None:
            return None
        return RequestTemplate(
            store=self._files.store,
            signer=signing_request.CLIENT_SIGNER,
            usages=("digital signature", "client auth"),
            user=node_user(self._agent.node_name),
            group=ORGANIZATION,
            access=access,
        )

    def _rotating_access(self) -> Access | None:
        """The credentials in use, while their certificate is due for rotation."""
        certificate, wanted = self._state.certificate, self._agent.config.rotateCertificates
        due = to_rotate(certificate, self._agent.node_name, self._clocks.wall(), wanted=wanted)
        return self._state.access if due else None

    def _count_error(self) -> None:
        self._actor.metrics.count(ERRORS)

    # -- telling --------------------------------------------------------------------------------------------------
    def greet(self, name: ActorName) -> None:
        """An actor has started."""
        self._credentials.greet(name)

    def measure(self) -> None:
        certificate = self._state.certificate
        left = certificate.not_after - self._clocks.wall() if certificate is not None else math.inf
        self._actor.metrics.gauge(TTL, left)
