"""The node's HTTPS server (:10250), and the read-only one (:10255) when it is configured.

Standalone, a caller is known by a client certificate of the configured CA; without a CA there is nobody to trust, and
everything but /healthz is refused. Certificates are swapped without a restart: each connection is made with the context
of its moment.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, cast

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.netutil import bind_sockets

from actors.cert_manager.messages import GetServingCertificate, ServingCertificate
from actors.config.agent import Agent
from supervision.actor import Actor, AskError, on

from .requests import application
from .tls import identity, server_context

RETRY_SECONDS = 5.0
LIMITS: dict[str, Any] = {
    "idle_connection_timeout": 90,
    "max_header_size": 1024 * 1024,
    "max_body_size": 1024 * 1024,
    "body_timeout": 60,
    "no_keep_alive": False,
}
"""Seconds and bytes; those of the reference where it has them."""


class ByCertificate:
    """Lets in who showed a client certificate of the CA."""

    def refusal(self, request: HTTPServerRequest) -> str:
        peer = request.get_ssl_certificate()
        return "" if identity(cast("dict[str, object] | None", peer)) else "Unauthorized"


class Anybody:
    """For the read-only server, which has only what is harmless, and where anonymous access is configured."""

    def refusal(self, request: HTTPServerRequest) -> str:
        return ""


class _Server(Actor):
    """What both servers share: listen, and try again while the port is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.server: HTTPServer | None = None

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

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

    feeders = ("cert_manager",)

    async def on_start(self) -> None:
        self._version = 0
        self.start_task(self._first_certificate(), "certificate")

    async def _first_certificate(self) -> None:
        """Ask until there is one; the port is not open before."""
        while self.server is None:
            try:
                await self._use(await self.ask("cert_manager", GetServingCertificate(), ServingCertificate, timeout=5))
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
            self.server.ssl_options = context
            self.log.info("serving certificate or client CA changed: new connections use it")
            return
        config = self.agent.config
        gate = Anybody() if config.authentication.anonymous.enabled else ByCertificate()
        paths = application(self, gate, main=True, debugging=config.enableDebuggingHandlers)
        self.server = HTTPServer(paths, ssl_options=context, **LIMITS)
        await self._listen(config.port)


class ReadOnlyServer(_Server):
    """Plain HTTP for what is harmless; only where readOnlyPort is set."""

    async def on_start(self) -> None:
        config = self.agent.config
        if config.readOnlyPort:
            self.server = HTTPServer(application(self, Anybody(), main=False, debugging=False), **LIMITS)
            await self._listen(config.readOnlyPort)
