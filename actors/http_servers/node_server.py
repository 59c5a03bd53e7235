"""The node's HTTPS server (:10250), and the read-only one (:10255) when it is configured.

Standalone, a caller is known by a client certificate of the configured CA; without a CA there is nobody to trust, and
everything but /healthz is refused. Certificates are swapped without a restart: each connection is made with the context
of its moment.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, cast

from tornado.netutil import bind_sockets

from actors.api_clients.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.cert_manager.messages import CERT_MANAGER, GetServingCertificate, ServingCertificate
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.tracing.start import begin
from supervision.actor import Actor, AskError, on

from .access.gates import Anonymous, Anybody, ByApiServer, ByCertificate, Gate
from .access.reviews import Reviews
from .serving import pages
from .serving.connections import BoundedServer
from .serving.handler import application
from .streaming import handlers
from .tls.context import ServerContext, plain_context, server_context

RETRY_SECONDS = 5.0


def prepare() -> None:
    """Make what every start of a server makes: the patterns of its paths, OpenSSL's algorithms. For the fork server."""
    defaults = KubeletConfiguration()
    routes = [*pages.harmless(), *handlers.routes(), *pages.debugging(defaults)]
    application(Actor(), ByCertificate(), main=True, debugging=True, more=routes)
    plain_context(defaults)


class _Server(Actor):
    """What both servers share: listen, and try again while the port is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.server: BoundedServer | None = None

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    def _begin_tracing(self) -> None:
        self.tracer = begin(self, self.agent.config.tracing, self.agent.node_name)

    async def _listen(self, port: int) -> None:
        config = self.agent.config
        server = self.server
        if server is None:
            return
        try:
            server.add_sockets(bind_sockets(port, config.address or None, backlog=256))
        except OSError as error:
            self.log.error(
                "cannot listen on %s:%d, tried again in %.0f s: %s", config.address, port, RETRY_SECONDS, error
            )
            self.after(RETRY_SECONDS, lambda: self._listen(port))


class NodeServer(_Server):
    """`kubectl logs` and whoever scrapes or audits the node."""

    feeders = (CERT_MANAGER,)

    async def on_start(self) -> None:
        self._begin_tracing()
        self._version = 0
        self.start_task(self._first_certificate(), "certificate")

    async def _first_certificate(self) -> None:
        """Ask until there is one; the port is not open before."""
        while self.server is None:
            try:
                await self._use(await self.ask(CERT_MANAGER, GetServingCertificate(), ServingCertificate, timeout=5))
            except AskError:
                continue
            if self.server is None:
                await asyncio.sleep(0.05)

    @on(ServingCertificate)
    async def on_certificate(self, message: ServingCertificate, sender: Any) -> None:
        await self._use(message)

    async def _use(self, certificate: ServingCertificate) -> None:
        if certificate.version == 0 or certificate.version == self._version:
            return
        try:
            context = server_context(certificate, self.agent.config)
        except (OSError, ssl.SSLError) as error:
            self.log.error("the serving certificate or the client CA cannot be used, the last one stays: %s", error)
            return
        self._version = certificate.version
        if self.server is not None:
            cast(ServerContext, self.server.ssl_options).successor = context
            self.server.ssl_options = context
            self.log.info("serving certificate or client CA changed: new connections use it")
            return
        config = self.agent.config
        gate = self._gate()
        paths = application(
            self,
            gate,
            main=True,
            debugging=config.enableDebuggingHandlers,
            both=pages.harmless(),
            more=[*handlers.routes(), *pages.debugging(config)],
            tracer=self.tracer,
            runtime=handlers.Runtime(self._runtime, config.streamingConnectionIdleTimeout),
        )
        self.server = paths.settings["server"] = BoundedServer(paths, ssl_options=context)
        await self._listen(config.port)

    def _runtime(self) -> CriClient:
        seconds = self.agent.config.runtimeRequestTimeout
        return CriClient(self.agent.runtime_endpoint, request_seconds=seconds, tracer=self.tracer)

    def _gate(self) -> Gate:
        config = self.agent.config
        authentication, authorization = config.authentication, config.authorization
        if self.agent.standalone:
            return Anonymous() if authentication.anonymous.enabled else ByCertificate()
        reviews = Reviews(
            self._call,
            token_seconds=authentication.webhook.cacheTTL,
            allowed_seconds=authorization.webhook.cacheAuthorizedTTL,
            denied_seconds=authorization.webhook.cacheUnauthorizedTTL,
        )
        return ByApiServer(
            self.agent.node_name,
            tokens=reviews if authentication.webhook.enabled else None,
            permissions=reviews if authorization.mode == "Webhook" else None,
            anonymous=authentication.anonymous.enabled,
        )

    async def _call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self.ask(KUBE_CLIENT, call, ApiAnswer, timeout=call.timeout + 1.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=str(error))


class ReadOnlyServer(_Server):
    """Plain HTTP for what is harmless; only where readOnlyPort is set."""

    async def on_start(self) -> None:
        self._begin_tracing()
        config = self.agent.config
        if config.readOnlyPort:
            paths = application(self, Anybody(), main=False, debugging=False, both=pages.harmless(), tracer=self.tracer)
            self.server = paths.settings["server"] = BoundedServer(paths)
            await self._listen(config.readOnlyPort)
