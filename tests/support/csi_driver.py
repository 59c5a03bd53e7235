"""A storage driver of this host, as CSI drivers are: registers by a socket, stages in memory, publishes by bind mounts.

What it was asked is written down; what a test wants to fail, fails.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from actors.shared.linux import mount_calls
from actors.shared.linux.confined_paths import open_beneath, path_of
from proto import csi_pb2 as csi
from proto import csi_pb2_grpc, plugin_registration_pb2_grpc
from proto import plugin_registration_pb2 as registration

CAPABILITIES = csi.NodeServiceCapability.RPC
_MS_REMOUNT = 32


@dataclass(frozen=True)
class Asked:
    method: str
    request: Any


@dataclass(frozen=True)
class Place:
    """A name in an open directory."""

    above: int
    name: str

    @property
    def path(self) -> str:
        """Its path by the open directory: no link before the name can be followed."""
        return f"{path_of(self.above)}/{self.name}"

    @contextmanager
    def opened(self) -> Iterator[str]:
        """A path of what is there now, to be mounted on. Raises OSError, for a link too."""
        there = open_beneath(self.above, self.name)
        try:
            yield path_of(there)
        finally:
            os.close(there)

    def mount(self, options: str, flags: int = 0) -> None:
        with self.opened() as there:
            mount_calls.mount("fake", there, "tmpfs", flags, options)

    def bind(self, source: str) -> None:
        with self.opened() as there:
            mount_calls.bind(source, there)

    def write(self, file: str, text: str) -> None:
        """Raises OSError, for a link too."""
        with self.opened() as there:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
            with os.fdopen(os.open(f"{there}/{file}", flags, 0o644), "w") as stream:
                stream.write(text)

    def unmount(self) -> None:
        if os.path.ismount(self.path):
            mount_calls.umount(self.path)


@dataclass
class FakeDriver:
    """`root_dir` is the agent's."""

    root_dir: str
    name: str = "fake.csi.test"
    stages: bool = True
    kind: str = "CSIPlugin"
    versions: tuple[str, ...] = ("1.0.0",)
    calls: list[Asked] = field(default_factory=list)
    said: list[tuple[bool, str]] = field(default_factory=list)
    """What the agent told of its registration."""
    expands: bool = False
    measures: bool = False
    conditions: bool = False
    abnormal: str = ""
    """What is wrong with its volumes."""
    fits: int = 7
    """So many of its volumes this node can have."""
    device: str = ""
    """Of the host, published for volumes of the mode Block."""
    failing: dict[str, str] = field(default_factory=dict)
    """Text by the method that is to fail."""

    def __post_init__(self) -> None:
        self._server: grpc.Server | None = None
        self._changed = threading.Condition()

    # -- life -----------------------------------------------------------------------------------------------------
    def start(self) -> None:
        home = Path(self.root_dir, "plugins", self.name)
        home.mkdir(parents=True, exist_ok=True)
        endpoint = str(home / "csi.sock")
        self._server = grpc.server(ThreadPoolExecutor(4))
        csi_pb2_grpc.add_NodeServicer_to_server(_Node(self), self._server)
        registrar = _Registrar(self, endpoint)
        plugin_registration_pb2_grpc.add_RegistrationServicer_to_server(registrar, self._server)
        self._registration = f"{self.root_dir}/plugins_registry/{self.name}-reg.sock"
        for path in (endpoint, self._registration):
            Path(path).unlink(missing_ok=True)
            self._server.add_insecure_port(f"unix://{path}")
        self._server.start()

    def stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop(None).wait()
            Path(self._registration).unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[FakeDriver]:
        self.start()
        try:
            yield self
        finally:
            self.stop()

    # -- where it mounts ------------------------------------------------------------------------------------------
    @contextmanager
    def place(self, path: str) -> Iterator[Place]:
        """The place of a mount below the agent's directory. Raises OSError where a link is on the way: the driver is
        root, and a mount through a link would cover whatever of the host the link points to."""
        real = os.path.realpath(self.root_dir)
        where = path.removeprefix(self.root_dir).removeprefix(real).lstrip("/")
        parent, name = os.path.split(where)
        top = os.open(real, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            above = open_beneath(top, parent)
        finally:
            os.close(top)
        try:
            yield Place(above, name)
        finally:
            os.close(above)

    # -- what it was asked ----------------------------------------------------------------------------------------
    def note(self, method: str, request: Message, context: grpc.ServicerContext) -> None:
        """Raises where the method is to fail."""
        with self._changed:
            self.calls.append(Asked(method, request))
            self._changed.notify_all()
        if method in self.failing:
            context.abort(grpc.StatusCode.INTERNAL, self.failing[method])

    def notified(self, registered: bool, error: str) -> None:
        with self._changed:
            self.said.append((registered, error))
            self._changed.notify_all()

    def requests(self, method: str) -> list[Any]:
        return [one.request for one in self.calls if one.method == method]

    def wait_registered(self, times: int = 1, seconds: float = 30.0) -> None:
        with self._changed:
            found = self._changed.wait_for(lambda: len([one for one in self.said if one[0]]) >= times, seconds)
        assert found, self.said


class _Registrar(plugin_registration_pb2_grpc.RegistrationServicer):
    def __init__(self, driver: FakeDriver, endpoint: str) -> None:
        self._driver, self._endpoint = driver, endpoint

    def GetInfo(self, request: Any, context: Any) -> registration.PluginInfo:
        driver = self._driver
        driver.note("GetInfo", request, context)
        return registration.PluginInfo(
            type=driver.kind, name=driver.name, endpoint=self._endpoint, supported_versions=driver.versions
        )

    def NotifyRegistrationStatus(
        self, request: registration.RegistrationStatus, context: Any
    ) -> registration.RegistrationStatusResponse:
        self._driver.notified(request.plugin_registered, request.error)
        return registration.RegistrationStatusResponse()


class _Node(csi_pb2_grpc.NodeServicer):
    def __init__(self, driver: FakeDriver) -> None:
        self._driver = driver

    def NodeGetInfo(self, request: Any, context: Any) -> csi.NodeGetInfoResponse:
        place = csi.Topology(segments={"topology.fake.csi.test/zone": "z1"})
        return csi.NodeGetInfoResponse(
            node_id="fake-node", max_volumes_per_node=self._driver.fits, accessible_topology=place
        )

    def NodeGetCapabilities(self, request: Any, context: Any) -> csi.NodeGetCapabilitiesResponse:
        kinds = [CAPABILITIES.STAGE_UNSTAGE_VOLUME] if self._driver.stages else []
        kinds += [CAPABILITIES.EXPAND_VOLUME] if self._driver.expands else []
        kinds += [CAPABILITIES.GET_VOLUME_STATS] if self._driver.measures else []
        kinds += [CAPABILITIES.VOLUME_CONDITION] if self._driver.conditions else []
        return csi.NodeGetCapabilitiesResponse(
            capabilities=[csi.NodeServiceCapability(rpc=CAPABILITIES(type=kind)) for kind in kinds]
        )

    def NodeStageVolume(self, request: Any, context: Any) -> csi.NodeStageVolumeResponse:
        self._driver.note("NodeStageVolume", request, context)
        if not request.volume_capability.HasField("block"):
            with self._driver.place(request.staging_target_path) as staging:
                if not os.path.ismount(staging.path):
                    staging.mount("mode=0755")
                    staging.write("id", request.volume_id)
        return csi.NodeStageVolumeResponse()

    def NodeExpandVolume(self, request: Any, context: Any) -> csi.NodeExpandVolumeResponse:
        self._driver.note("NodeExpandVolume", request, context)
        size = request.capacity_range.required_bytes
        with self._driver.place(request.volume_path) as volume:
            volume.mount(f"mode=0755,size={size}", _MS_REMOUNT)
        return csi.NodeExpandVolumeResponse(capacity_bytes=size)

    def NodeGetVolumeStats(self, request: Any, context: Any) -> csi.NodeGetVolumeStatsResponse:
        """Figures that no file system here has."""
        self._driver.note("NodeGetVolumeStats", request, context)
        unit = csi.VolumeUsage
        usage = [
            unit(unit=unit.BYTES, total=5000, available=3000, used=2000),
            unit(unit=unit.INODES, total=50, available=30, used=20),
        ]
        condition = csi.VolumeCondition(abnormal=bool(self._driver.abnormal), message=self._driver.abnormal)
        return csi.NodeGetVolumeStatsResponse(usage=usage, volume_condition=condition)

    def NodeUnstageVolume(self, request: Any, context: Any) -> csi.NodeUnstageVolumeResponse:
        self._driver.note("NodeUnstageVolume", request, context)
        with self._driver.place(request.staging_target_path) as staging:
            staging.unmount()
        return csi.NodeUnstageVolumeResponse()

    def NodePublishVolume(self, request: Any, context: Any) -> csi.NodePublishVolumeResponse:
        self._driver.note("NodePublishVolume", request, context)
        with self._driver.place(request.target_path) as target:
            if request.volume_capability.HasField("block"):
                self._publish_device(target)
                return csi.NodePublishVolumeResponse()
            with suppress(FileExistsError):
                os.mkdir(target.name, dir_fd=target.above)
            if not os.path.ismount(target.path):
                if request.staging_target_path:
                    with self._driver.place(request.staging_target_path) as staging, staging.opened() as source:
                        target.bind(source)
                else:
                    target.mount("mode=0777")
            if "asks" in request.volume_context:
                target.write("asked", str(len(self._driver.requests("NodePublishVolume"))))
        return csi.NodePublishVolumeResponse()

    def _publish_device(self, target: Place) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        if not os.path.ismount(target.path):
            os.close(os.open(target.name, flags, 0o644, dir_fd=target.above))
            target.bind(self._driver.device)

    def NodeUnpublishVolume(self, request: Any, context: Any) -> csi.NodeUnpublishVolumeResponse:
        self._driver.note("NodeUnpublishVolume", request, context)
        with self._driver.place(request.target_path) as target:
            target.unmount()
            if os.path.isdir(target.path) and not os.path.islink(target.path):
                os.rmdir(target.name, dir_fd=target.above)
            elif os.path.lexists(target.path):
                os.unlink(target.name, dir_fd=target.above)
        return csi.NodeUnpublishVolumeResponse()
