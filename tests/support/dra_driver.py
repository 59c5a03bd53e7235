"""A DRA driver of this host, as drivers are: registers by a socket, prepares claims, reports health.

What is prepared outlives the driver (`prepared` in its directory), what it was asked is in `calls` there, and what is
to go wrong in `behaviour`: JSON files, so that a driver of another process can be steered and looked at.

    python -m tests.support.dra_driver ROOT_DIR NAME [VERSION ...]
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from proto import dra_health_pb2 as health
from proto import dra_pb2 as dra
from proto import plugin_registration_pb2 as registration
from proto import plugin_registration_pb2_grpc

BOTH = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
PACKAGE = "k8s.io.kubelet.pkg.apis.dra"
HEALTHS = {"Unknown": health.UNKNOWN, "Healthy": health.HEALTHY, "Unhealthy": health.UNHEALTHY}


class SampleDriver:
    """`root_dir` is the agent's. Each claim gets one device for each of `requests`."""

    def __init__(
        self,
        root_dir: str | Path,
        name: str = "gpu.example.com",
        versions: tuple[str, ...] = BOTH,
        instance: str = "",
        requests: tuple[str, ...] = ("gpu",),
        unlisted: tuple[str, ...] = (),
    ) -> None:
        """`unlisted`: services that it has, and does not list when it registers."""
        self.name, self.versions, self.requests, self.unlisted = name, versions, requests, unlisted
        self.home = Path(root_dir, "plugins", name)
        self.home.mkdir(parents=True, exist_ok=True)
        self.endpoint = self.home / f"dra{instance}.sock"
        self.registration = Path(root_dir, "plugins_registry", f"{name}{instance}-reg.sock")
        self.said: list[tuple[bool, str]] = []
        self._server: grpc.Server | None = None
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    # -- life -----------------------------------------------------------------------------------------------------
    def start(self) -> None:
        self._stopped.clear()
        server = self._server = grpc.server(ThreadPoolExecutor(8))
        plugin_registration_pb2_grpc.add_RegistrationServicer_to_server(_Registrar(self), server)
        for service in (*self.versions, *self.unlisted):
            version, _, kind = service.partition(".")
            if kind == "DRAPlugin":
                server.add_generic_rpc_handlers((self._plugin(f"{PACKAGE}.{version}.DRAPlugin"),))
            if kind == "DRAResourceHealth":
                server.add_generic_rpc_handlers((self._health(f"{version}.DRAResourceHealth"),))
        for path in (self.endpoint, self.registration):
            path.unlink(missing_ok=True)
            server.add_insecure_port(f"unix://{path}")
        server.start()

    def stop(self) -> None:
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        server, self._server = self._server, None
        if server is not None:
            server.stop(None).wait()
            self.registration.unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[SampleDriver]:
        self.start()
        try:
            yield self
        finally:
            self.stop()

    # -- what it has and was asked ------------------------------------------------------------------------------------
    @property
    def prepared(self) -> dict[str, Any]:
        """By claim UID."""
        return dict(_read(self.home / "prepared"))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """`method` (with its version) and names of the `claims`."""
        return [json.loads(line) for line in _lines(self.home / "calls")]

    def methods(self) -> list[str]:
        return [call["method"] for call in self.calls]

    def behave(self, **behaviour: Any) -> None:
        """What goes wrong from now on.

        `error`: by claim name the error of its answer; `skip`: names that are not answered; `invent`: a UID that is
        answered, too; `abort`: text of a failed call; `hang`: seconds; `garbage`: the answer is no message; `die`: the
        process ends in the next call, before (`before`) or after (`after`) it has done its work; `health`: by device
        its health, `message`: of all; `devices`: so many more of each claim.
        """
        temporary = self.home / ".behaviour"
        temporary.write_text(json.dumps(behaviour))
        temporary.replace(self.home / "behaviour")
        with self._changed:
            self._changed.notify_all()

    def name_by_cdi(self, *, names: bool) -> None:
        """Whether its devices have CDI names, which a runtime must know and a specification must explain."""
        path = self.home / "nameless"
        path.unlink(missing_ok=True) if names else path.touch()

    @property
    def behaviour(self) -> dict[str, Any]:
        return dict(_read(self.home / "behaviour"))

    def wait_registered(self, times: int = 1, seconds: float = 30.0) -> None:
        with self._changed:
            found = self._changed.wait_for(lambda: len([one for one in self.said if one[0]]) >= times, seconds)
        assert found, self.said

    def notified(self, registered: bool, error: str) -> None:
        with self._changed:
            self.said.append((registered, error))
            self._changed.notify_all()

    # -- services -----------------------------------------------------------------------------------------------------
    def _plugin(self, service: str) -> grpc.GenericRpcHandler:
        version = service.split(".")[-2]
        methods = {
            "NodePrepareResources": (self._prepare, dra.NodePrepareResourcesRequest),
            "NodeUnprepareResources": (self._unprepare, dra.NodeUnprepareResourcesRequest),
        }
        return grpc.method_handlers_generic_handler(
            service,
            {
                name: grpc.unary_unary_rpc_method_handler(
                    self._misbehaving(f"{version}.{name}", work),
                    request_deserializer=kind.FromString,
                    response_serializer=bytes,
                )
                for name, (work, kind) in methods.items()
            },
        )

    def _misbehaving(self, name: str, work: Any) -> Any:
        def answer(request: Any, context: grpc.ServicerContext) -> bytes:
            with open(self.home / "calls", "a") as file:
                file.write(json.dumps({"method": name, "claims": [claim.name for claim in request.claims]}) + "\n")
            bad = self.behaviour
            if "hang" in bad:
                self._stopped.wait(bad["hang"])
            if "abort" in bad:
                context.abort(grpc.StatusCode.INTERNAL, bad["abort"])
            if bad.get("die") == "before":
                signal.raise_signal(signal.SIGKILL)
            made = work(request, bad)
            if bad.get("die") == "after":
                signal.raise_signal(signal.SIGKILL)
            return b"\xff\xff\xff" if bad.get("garbage") else made.SerializeToString()

        return answer

    def _prepare(self, request: dra.NodePrepareResourcesRequest, bad: dict[str, Any]) -> Any:
        answer = dra.NodePrepareResourcesResponse()
        for claim in request.claims:
            if claim.name in bad.get("skip", ()):
                continue
            one = answer.claims[claim.uid]
            one.error = bad.get("error", {}).get(claim.name, "")
            if one.error:
                continue
            with self._changed:
                self._keep({**self.prepared, claim.uid: {"name": claim.name, "namespace": claim.namespace}})
            for request_name in self.requests:
                one.devices.add(
                    request_names=[request_name], pool_name="pool", device_name=f"{request_name}-0",
                    cdi_device_ids=self._cdi_names(request_name, claim.name),
                )  # fmt: skip
            for number in range(bad.get("devices", 0)):
                one.devices.add(pool_name="pool", device_name=f"more-{number}")
        if bad.get("invent"):
            answer.claims[bad["invent"]].error = ""
        return answer

    def _cdi_names(self, request: str, claim: str) -> list[str]:
        return [] if (self.home / "nameless").exists() else [f"{self.name}/{request}={claim}"]

    def _unprepare(self, request: dra.NodeUnprepareResourcesRequest, bad: dict[str, Any]) -> Any:
        answer = dra.NodeUnprepareResourcesResponse()
        for claim in request.claims:
            if claim.name in bad.get("skip", ()):
                continue
            one = answer.claims[claim.uid]
            one.error = bad.get("error", {}).get(claim.name, "")
            if not one.error:
                with self._changed:
                    self._keep({uid: kept for uid, kept in self.prepared.items() if uid != claim.uid})
        return answer

    def _keep(self, prepared: dict[str, Any]) -> None:
        temporary = self.home / ".prepared"
        temporary.write_text(json.dumps(prepared))
        temporary.replace(self.home / "prepared")

    def _health(self, service: str) -> grpc.GenericRpcHandler:
        def watch(request: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
            before: Any = None
            while not self._stopped.is_set() and context.is_active():
                bad = self.behaviour
                now = (bad.get("health", {}), bad.get("message", ""))
                if now != before:
                    before = now
                    yield self._report(*now)
                with self._changed:
                    self._changed.wait(0.05)

        handler = grpc.unary_stream_rpc_method_handler(
            watch, request_deserializer=health.NodeWatchResourcesRequest.FromString, response_serializer=bytes
        )
        return grpc.method_handlers_generic_handler(service, {"NodeWatchResources": handler})

    @staticmethod
    def _report(states: dict[str, str], message: str) -> bytes:
        answer = health.NodeWatchResourcesResponse()
        for device, state in states.items():
            one = answer.devices.add(health=HEALTHS[state], message=message)
            one.device.pool_name, one.device.device_name = "pool", device
        return answer.SerializeToString()


class _Registrar(plugin_registration_pb2_grpc.RegistrationServicer):
    def __init__(self, driver: SampleDriver) -> None:
        self._driver = driver

    def GetInfo(self, request: Any, context: Any) -> registration.PluginInfo:
        driver = self._driver
        return registration.PluginInfo(
            type="DRAPlugin", name=driver.name, endpoint=str(driver.endpoint), supported_versions=driver.versions
        )

    def NotifyRegistrationStatus(
        self, request: registration.RegistrationStatus, context: Any
    ) -> registration.RegistrationStatusResponse:
        self._driver.notified(request.plugin_registered, request.error)
        return registration.RegistrationStatusResponse()


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().splitlines()
    return []


def main(root_dir: str, name: str, *versions: str) -> None:
    """Until it is told to end. Says when it listens, and when the agent has taken it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with SampleDriver(root_dir, name, versions or BOTH).running() as driver:
        print("started", flush=True)
        driver.wait_registered(seconds=threading.TIMEOUT_MAX)
        print("registered", flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
