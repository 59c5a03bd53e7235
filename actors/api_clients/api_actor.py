"""The common part of the three clients of the API server: changing credentials, requests, the state of the connection.

Each has connections, limits and timeouts of its own. The kubeconfig is loaded as soon as it is there, so that joining
waits for nobody; when cert_manager sends others, or a file that it names changes, the client reconnects.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from actors.shared.api.access import ServerAccess, loaded_at_start
from actors.shared.api.errors import ApiError, NoCredentials
from actors.shared.config.agent import Agent
from actors.shared.tracing.start import start_tracer
from supervision.actor import Actor, Address, on

from .messages import CredentialsChanged

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient, ApiResponse, RequestObservation

FOLLOW_SECONDS: Final = 5.0
"""How often the files of the credentials are looked at (a few stats)."""
MAX_WARNINGS: Final = 100
"""Different warnings of the server that are logged; further ones are not."""
Stamp = tuple[tuple[str, int, int, int], ...]


class ApiActor(Actor):
    """A client of the API server. Subclasses set limits, and act once there are credentials."""

    def __init__(self) -> None:
        super().__init__()
        self.client: ApiClient | None = None
        """None: standalone, or no usable credentials yet."""
        self._stamp: Stamp = ()
        self._loaded: ServerAccess | None = None
        """The result of the last load of the kubeconfig."""
        self._certificate = ""
        """PEM file from cert_manager that replaces the kubeconfig's own certificate."""
        self._mode: Literal["standalone", "joining", "joined", "unreachable"] = "standalone"
        self._error = ""
        self._server_warnings: set[str] = set()
        """Warnings of the server that are in the log."""

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    # -- hooks of subclasses ----------------------------------------------------------------------------------------
    def limits(self) -> dict[str, Any]:
        """Arguments of ApiClient: qps, burst, timeout."""
        return {}

    async def on_joining(self) -> None:
        """The first credentials are loaded: `client` is set."""

    async def on_reconnected(self) -> None:
        """The credentials have changed."""

    # -- start and stop --------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        if self.agent.standalone:
            self.log.info("standalone: no API server")
            return
        self._mode = "joining"
        self._loaded = loaded_at_start(self.agent.access)
        await self._load()
        self.every(FOLLOW_SECONDS, self._follow, jitter=0.2)

    @on(CredentialsChanged)
    async def on_credentials_changed(self, message: CredentialsChanged, sender: Address) -> None:
        if not self.agent.standalone:
            self._certificate = message.certificate
            await self._load()

    async def _follow(self) -> None:
        """Load again when a file of the credentials has changed or appeared, or the last load may succeed now."""
        if self.client is not None:
            self.client.plugin_metrics.tell_rest(time.time())
        if stamp_of(self._files()) != self._stamp:
            await self._load()

    def _files(self) -> tuple[str, ...]:
        """The kubeconfig first, then the files that it names, once they are known."""
        return self.client.access.files if self.client is not None else (self.agent.kubeconfig,)

    async def _load(self) -> None:
        """Use the current kubeconfig; if it is unusable, keep the present credentials."""
        from actors.shared.api import kubeconfig

        path, before = self.agent.kubeconfig, stamp_of(self._files())
        try:
            access = await kubeconfig.load_later(path, self._loaded)
            self._loaded = access
            if self._certificate:
                access = access.with_certificate(self._certificate)
        except kubeconfig.KubeconfigError as error:
            self._stamp = () if error.may_pass else before
            waits = self.agent.bootstrap_kubeconfig and before[0][3] < 0
            self.failed(NoCredentials(0, "NoCredentials", f"{path} is not there yet" if waits else str(error)))
            return
        stamp = as_read(before, stamp_of(access.files))
        if self.client is None or access != self.client.access or stamp != self._stamp:
            self._stamp = stamp
            await self._use(access)

    async def _use(self, access: ServerAccess) -> None:
        from actors.shared.api.client import ApiClient, ClientTelemetry
        from actors.shared.api.plugin_metrics import PluginMetrics

        if self.client is None:
            self.client = ApiClient(
                access,
                content_type=self.agent.config.contentType,
                telemetry=ClientTelemetry(
                    self._observe,
                    self._log_server_warning,
                    start_tracer(self, self.agent.config.tracing, self.agent.node_name),
                    PluginMetrics(self.metrics),
                ),
                **self.limits(),
            )
            self.log.info("API server %s, by %s", access.server, access.source)
            await self.on_joining()
        else:
            self.log.info("credentials for the API server have changed: reconnecting")
            await self.client.reconnect(access)
            await self.on_reconnected()

    # -- requests ---------------------------------------------------------------------------------------------------
    async def request(self, method: str, path: str, **more: Any) -> ApiResponse:
        """As ApiClient.call; the outcome updates the connection's state. Raises ApiError; NoCredentials without any."""
        if self.client is None:
            raise NoCredentials(0, "NoCredentials", self._error or "there are no credentials for the API server yet")
        try:
            answer = await self.client.call(method, path, **more)
        except ApiError as error:
            self.failed(error)
            raise
        self.answered()
        return answer

    def answered(self) -> None:
        """The server has answered."""
        if self._mode != "joined" or self._error:
            self.log.info("the API server answers")
        self._mode, self._error = "joined", ""

    def failed(self, error: ApiError) -> None:
        """The server has not answered, or with an error. An error of one request (404, 409, ...) is an answer."""
        if error.status and error.status != 401 and error.status < 500:
            self.answered()
            return
        mode: Literal["unreachable", "joining"] = "joining" if self._mode == "joining" else "unreachable"
        if not self._error or self._mode != mode:
            what = "answers with an error" if error.status else "does not answer"
            self.log.warning("the API server %s: %s", what, error)
        self._mode, self._error = mode, str(error)

    def _log_server_warning(self, text: str) -> None:
        """Log each text once: a deprecated field of a static pod comes with every try to create its mirror."""
        if text not in self._server_warnings and len(self._server_warnings) < MAX_WARNINGS:
            self._server_warnings.add(text)
            self.log.warning("the API server warns: %s", text)

    def _observe(self, seen: RequestObservation) -> None:
        """The kubelet's metrics of its API clients."""
        host = self.client.host if self.client is not None else ""
        metrics, labels = self.metrics, {"host": host, "verb": seen.method}
        metrics.count("rest_client_requests_total", code=seen.code, host=host, method=seen.method)
        metrics.observe("rest_client_request_duration_seconds", seen.seconds, **labels)
        metrics.observe("rest_client_rate_limiter_duration_seconds", seen.waited, **labels)
        metrics.observe("rest_client_request_size_bytes", seen.sent, **labels)
        metrics.observe("rest_client_response_size_bytes", seen.received, **labels)
        if seen.again:
            metrics.count("rest_client_request_retries_total", code=seen.code, **labels)


def stamp_of(files: tuple[str, ...]) -> Stamp:
    """Changes when one of them does: replaced, written, or gone."""
    found = []
    for path in files:
        try:
            stat = os.stat(path)
            found.append((path, stat.st_ino, stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((path, 0, 0, -1))
    return tuple(found)


def as_read(before: Stamp, after: Stamp) -> Stamp:
    """The stamp of the files as they were read between the two: one that was replaced meanwhile is read again."""
    earlier = {entry[0]: entry for entry in before}
    return tuple(earlier.get(entry[0], entry) for entry in after)


def client_limits(qps: float, burst: int) -> dict[str, Any]:
    """The limits of the configuration; 0 means 5 a second and a burst of 10, client-go's default, as in the kubelet."""
    return {"qps": qps or 5.0, "burst": burst or 10}
