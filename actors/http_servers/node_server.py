"""The node's HTTPS server (:10250), and the read-only one (:10255) when it is configured.

Standalone, a client certificate of the configured CA identifies a caller; without a CA every path but /healthz is
denied. Certificates are replaced without a restart: a connection keeps the TLS context with which it was accepted.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, Final, cast

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.cert_manager.messages import CERT_MANAGER, GetServingCertificate, ServingCertificate
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.tracing.start import start_tracer
from supervision.actor import Actor, AskError, on

from .access.access import AccessCheck, CheckedAccess, OpenAccess
from .access.authentication import Authenticator
from .access.authorization import AlwaysAllow, Webhook
from .access.reviews import Reviews
from .endpoints import ENDPOINTS
from .serving.client_faults import limit_lines
from .serving.connections import BoundedServer
from .serving.endpoint import permissions
from .serving.port import ConfiguredPort, serve_port
from .serving.routes import application
from .serving.server_state import ServerState
from .tls.context import ServerContext, plain_context, server_context

MOST_WAITING: Final = 256
"""Backlog: connections that are not accepted yet."""


def prepare() -> None:
    """Do in the fork server what each start of a server needs: compile the path patterns, load OpenSSL's algorithms."""
    defaults = KubeletConfiguration()
    application(ServerState(Actor(), OpenAccess()), ENDPOINTS, defaults)
    plain_context(defaults)


class _Server(Actor):
    """The common part of both servers."""

    def __init__(self) -> None:
        super().__init__()
        self.server: BoundedServer | None = None

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        limit_lines()
        self.tracer = start_tracer(self, self.agent.config.tracing, self.agent.node_name)

    async def _serve(
        self, access: AccessCheck, port: int, *, read_only: bool, tls: ServerContext | None = None
    ) -> None:
        state = ServerState(self, access, read_only=read_only, tracer=self.tracer)
        routes = application(state, ENDPOINTS, self.agent.config)
        self.server = state.connections = BoundedServer(routes, ssl_options=tls)
        where = ConfiguredPort("readOnlyPort" if read_only else "port", self.agent.config.address, port)
        await serve_port(self, where, MOST_WAITING, self._accept)

    async def _accept(self, sockets: list[socket.socket]) -> None:
        if self.server is not None:
            self.server.add_sockets(sockets)


class NodeServer(_Server):
    """Serves the API server (logs, exec), scrapers, and auditors of the node."""

    async def on_start(self) -> None:
        await super().on_start()
        self._version = 0
        self.start_task(self._first_certificate(), "certificate")

    async def _first_certificate(self) -> None:
        """Ask for the serving certificate until there is one. The port is opened afterwards."""
        while self.server is None:
            try:
                await self._use(await self.ask(CERT_MANAGER, GetServingCertificate(), timeout=5))
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
            self.log.error("the serving certificate or the client CA is unusable, the last one stays in use: %s", error)
            return
        self._version = certificate.version
        if self.server is None:
            await self._serve(self._access(), self.agent.config.port, read_only=False, tls=context)
            return
        cast(ServerContext, self.server.ssl_options).replaced_by(context)
        self.server.ssl_options = context
        self.log.info("serving certificate or client CA changed: new connections use it")

    def _access(self) -> AccessCheck:
        authentication, authorization = self.agent.config.authentication, self.agent.config.authorization
        anonymous = authentication.anonymous.enabled
        if self.agent.standalone:
            # there is no API server for Webhook; validation refuses Webhook together with anonymous callers
            everyone = anonymous and authorization.mode == "AlwaysAllow"
            return CheckedAccess(Authenticator(anonymous=everyone), AlwaysAllow(), health_is_open=True)
        reviews = Reviews(
            self._call,
            token_seconds=authentication.webhook.cacheTTL,
            allowed_seconds=authorization.webhook.cacheAuthorizedTTL,
            denied_seconds=authorization.webhook.cacheUnauthorizedTTL,
        )
        tokens = reviews if authentication.webhook.enabled else None
        webhook = Webhook(reviews, self.agent.node_name, permissions(ENDPOINTS))
        return CheckedAccess(
            Authenticator(tokens=tokens, anonymous=anonymous),
            webhook if authorization.mode == "Webhook" else AlwaysAllow(),
            health_is_open=False,
        )

    async def _call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self.ask(KUBE_CLIENT, call, timeout=call.timeout + 1.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=str(error))


class ReadOnlyServer(_Server):
    """Serves harmless paths over plain HTTP, where readOnlyPort is set."""

    async def on_start(self) -> None:
        await super().on_start()
        if self.agent.config.readOnlyPort:
            await self._serve(OpenAccess(), self.agent.config.readOnlyPort, read_only=True)
