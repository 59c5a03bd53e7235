"""The CRI client: a typed coroutine with a deadline for each call; failures are CriErrors.

    client = CriClient("unix:///run/containerd/containerd.sock")
    version = await client.version()                # connects; raises IncompatibleVersion
    sandbox_id = await client.run_pod_sandbox(config)

It connects at the first call, so a client may be made before a fork and used after it.
"""

from __future__ import annotations

from typing import Final, Literal

from actors.shared.tracing.tracer import OFF, Tracer
from proto import cri_pb2 as cri
from supervision.metrics import Metrics
from supervision.time_scale import scaled

from . import conversion, methods
from .adoption import DEFAULT_POLLING, PollSchedule
from .container_calls import ContainerCalls
from .deadlines import DEFAULT_DEADLINES, DEFAULT_REQUEST_SECONDS, Deadlines
from .endpoint import IMAGE_FLAG, RUNTIME_FLAG, socket_path
from .errors import IncompatibleVersion, Unimplemented
from .image_calls import ImageCalls
from .measured_transport import MeasuredTransport
from .model import RuntimeStatus, RuntimeVersion
from .output_transport import OutputTransport
from .sandbox_calls import SandboxCalls
from .stats_calls import StatsCalls
from .transport import GrpcTransport, Transport
from .watched_transport import WatchedTransport

API_VERSION: Final = "0.1.0"
"""The version of CRI in the request and in the answer of Version."""

CgroupDriver = Literal["systemd", "cgroupfs"]


class CriClient(SandboxCalls, ContainerCalls, ImageCalls, StatsCalls):
    """Client of a runtime and its image service; usually both have the same endpoint."""

    def __init__(
        self,
        endpoint: str,
        image_endpoint: str = "",
        request_seconds: float = DEFAULT_REQUEST_SECONDS,
        tracer: Tracer = OFF,
        metrics: Metrics | None = None,
    ) -> None:
        """`request_seconds` is runtimeRequestTimeout. `metrics`: where calls are counted. Raises EndpointError."""
        path = socket_path(endpoint, RUNTIME_FLAG)
        image_path = socket_path(image_endpoint, IMAGE_FLAG) if image_endpoint else path
        self._runtime = measured(GrpcTransport(path, tracer), metrics)
        self._outputs = measured(OutputTransport(path, tracer), metrics)
        same = image_path == path
        self._images = self._runtime if same else measured(GrpcTransport(image_path, tracer), metrics)
        self._deadlines = Deadlines(scaled(request_seconds))
        self._polling = DEFAULT_POLLING

    @classmethod
    def over(
        cls, transport: Transport, deadlines: Deadlines = DEFAULT_DEADLINES, polling: PollSchedule = DEFAULT_POLLING
    ) -> CriClient:
        """A client with this transport, for a fake in the same process."""
        client = cls.__new__(cls)
        client._runtime = client._images = client._outputs = WatchedTransport(transport)
        client._deadlines, client._polling = deadlines, polling
        return client

    async def version(self) -> RuntimeVersion:
        """The handshake. Raises IncompatibleVersion when the runtime does not answer with API_VERSION."""
        request = cri.VersionRequest(version=API_VERSION)
        answer = await self._runtime.call(methods.VERSION, request, self._deadlines.request)
        if answer.version != API_VERSION:
            text = f"the runtime {answer.runtime_name or '?'} answers {answer.version!r}, not {API_VERSION!r}"
            raise IncompatibleVersion("Version", "FAILED_PRECONDITION", text)
        return RuntimeVersion(
            name=answer.runtime_name, version=answer.runtime_version, api_version=answer.runtime_api_version
        )

    async def status(self) -> RuntimeStatus:
        """Whether the runtime and its network are ready."""
        answer = await self._runtime.call(methods.STATUS, cri.StatusRequest(), self._deadlines.request)
        return conversion.runtime_status(answer)

    async def info(self) -> dict[str, str]:
        """The runtime's own information besides CRI, by its own keys: for containerd `config`, as JSON."""
        answer = await self._runtime.call(methods.STATUS, cri.StatusRequest(verbose=True), self._deadlines.request)
        return dict(answer.info)

    async def cgroup_driver(self) -> CgroupDriver | None:
        """The cgroup driver from RuntimeConfig; None if the runtime does not report it (containerd before 2.0)."""
        try:
            answer = await self._runtime.call(
                methods.RUNTIME_CONFIG, cri.RuntimeConfigRequest(), self._deadlines.request
            )
        except Unimplemented:
            return None
        if not answer.HasField("linux"):
            return None
        return "systemd" if answer.linux.cgroup_driver == cri.SYSTEMD else "cgroupfs"

    async def update_runtime_config(self, pod_cidr: str) -> None:
        """Pass the pod CIDR to the runtime, which passes it to CNI."""
        config = cri.RuntimeConfig(network_config=cri.NetworkConfig(pod_cidr=pod_cidr))
        request = cri.UpdateRuntimeConfigRequest(runtime_config=config)
        await self._runtime.call(methods.UPDATE_RUNTIME_CONFIG, request, self._deadlines.request)

    async def close(self) -> None:
        """Close the connections; calls in progress fail."""
        await self._runtime.close()
        await self._outputs.close()
        if self._images is not self._runtime:
            await self._images.close()


def measured(transport: Transport, metrics: Metrics | None) -> Transport:
    """The transport with its calls known to their tasks' CallsInProgress. `metrics`: None if they are not measured."""
    known = WatchedTransport(transport)
    return known if metrics is None else MeasuredTransport(known, metrics)
