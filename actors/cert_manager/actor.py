"""The certificate manager: manages the node's certificates, and notifies their users of changes.

The serving pair is the operator's, self-signed, or (serverTLSBootstrap) signed by the cluster. The client certificate
comes from the kubeconfig or from the bootstrap, and is rotated. A standalone node has no client certificate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from actors.http_servers.messages import NODE_SERVER
from actors.shared.clock_jumps import ClockJumps
from actors.shared.config.agent import Agent
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.protocol import GetMetrics, MetricsSnapshot

from .clocks import CertificateClocks
from .file_stamp import file_stamp
from .local_serving import LocalServing
from .messages import GetServingCertificate, NodeAddresses, ServingCertificate

if TYPE_CHECKING:
    from .client_certificate import ClientCertificate
    from .signed_serving import SignedServing

CHECK_SECONDS = 10.0
"""How often the files are checked, as in the kubelet."""
CHECK_PAIR_SECONDS = 24 * 3600.0
"""How often an unchanged pair is checked again: a self-signed one is renewed before it expires."""
VERSIONS = 1_000_000
"""The numbers of versions that each incarnation has for itself."""
SERVERS = (NODE_SERVER,)
SERVER_TTL = "kubelet_certificate_manager_server_ttl_seconds"


class CertManager(Actor):
    """Crash-only: all state is in files and in the API server."""

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clocks = CertificateClocks(wall, monotonic)
        self._version = 0
        self._stamps: tuple[object, ...] = ()
        self._checked = 0.0
        self._jumps = ClockJumps(self._clocks.wall, self._clocks.monotonic)
        self._client: ClientCertificate | None = None
        """None on a standalone node."""
        self._signed: SignedServing | None = None
        self._local: LocalServing | None = None

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        if not self.agent.standalone:
            self._join()
        if self._signed is None:
            self._local = LocalServing(self, self.agent, self._clocks)
        self.start_task(self._check_from_now_on(), "certificates")

    def _join(self) -> None:
        """Create the parts that only a node of a cluster needs; their modules are imported here only."""
        from .client_certificate import ClientCertificate

        client = self._client = ClientCertificate(self, self.agent, self._clocks, self._access_changed)
        if self.agent.config.serverTLSBootstrap:
            from .signed_serving import SignedServing

            self._signed = SignedServing(self, self.agent, lambda: client.access, self._see_files, self._clocks)

    def _access_changed(self) -> None:
        if self._signed is not None:
            self._signed.wake()

    async def on_hello(self, name: ActorName) -> None:
        if self._client is not None:
            self._client.greet(name)
        if name in SERVERS and self._version:
            self.tell(name, self._serving_certificate())

    @on(GetServingCertificate)
    def on_get(self, message: GetServingCertificate, sender: Address) -> ServingCertificate:
        return self._serving_certificate()

    @on(NodeAddresses)
    def on_addresses(self, message: NodeAddresses, sender: Address) -> None:
        if self._signed is not None:
            self._signed.update_addresses(message)

    @on(GetMetrics)
    def on_get_metrics(self, message: GetMetrics, sender: Address) -> MetricsSnapshot:
        self._measure()
        return self.metrics.snapshot(self.name, self.incarnation)

    def _measure(self) -> None:
        if self._client is not None:
            self._client.measure()
        serving = self._signed or self._local
        if serving is not None and serving.certificate is not None:
            self.metrics.gauge(SERVER_TTL, serving.certificate.not_after - self._clocks.wall())

    async def _check_from_now_on(self) -> None:
        """The first check makes the missing files, which may last longer than the time until the next one."""
        await self._check_certificates()
        self.every(CHECK_SECONDS, self._check_certificates)

    async def _check_certificates(self) -> None:
        if self._client is not None:
            await self._client.look()
        if self._signed is not None:
            if self._signed.settle():
                self._see_files()
        elif self._local is not None:
            await self._look_at_local(self._local)

    # -- serving ----------------------------------------------------------------------------------------------------
    async def _look_at_local(self, local: LocalServing) -> None:
        """Check whether a file has changed, check or create the pair, and notify the servers."""
        now = self._clocks.monotonic()
        jumped = self._jumps.take() != 0.0  # a pair that was made before the clock was set may be over by now
        settled = not jumped and (self._version or local.failed)
        if settled and self._stamp() == self._stamps and now - self._checked < CHECK_PAIR_SECONDS:
            return
        self._checked = now
        if await local.settle():
            self._see_files()
        else:
            self._stamps = self._stamp()

    def _see_files(self) -> None:
        """Notify the servers of the usable pair, unless they already have these files."""
        before, self._stamps = self._stamps, self._stamp()
        if self._version and before == self._stamps:
            return
        # a version of an earlier incarnation is never used again
        self._version = max(self._version, (self.incarnation - 1) * VERSIONS) + 1
        for server in SERVERS:
            self.tell(server, self._serving_certificate())

    def _serving_certificate(self) -> ServingCertificate:
        serving = self._signed or self._local
        cert_file, key_file = serving.files if serving is not None else ("", "")
        ca = self.agent.config.authentication.x509.clientCAFile
        return ServingCertificate(cert_file, key_file, ca, self._version)

    def _stamp(self) -> tuple[object, ...]:
        """The stamps of the watched files: the agent's own, and the operator's unless a gate is off."""
        current, agent = self._serving_certificate(), self.agent
        files: tuple[str, ...] = ()
        if agent.gate("ReloadKubeletServerCertificateFile") or not agent.serving_cert_given:
            files += (current.cert_file, current.key_file)
        if agent.gate("ReloadKubeletClientCAFile"):
            files += (current.client_ca_file,)
        return tuple(file_stamp(path) for path in files)
