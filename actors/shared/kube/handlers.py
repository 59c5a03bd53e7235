"""Probes and lifecycle hooks of containers, and the action of each, with the rules that the API has for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from . import formats
from .meta import Api, IntOrString

Problem = tuple[str, str]
"""A field of an action, and the broken rule of the API."""


class Action(Api, frozen=True):
    """Base of the actions of probes and lifecycle hooks."""

    def problems(self, ports: Collection[str]) -> Iterable[Problem]:
        """The rules of API validation that it breaks (API reference, Probe v1 core). `ports`: names of the container's
        ports."""
        return ()


class ExecAction(Action, frozen=True):
    command: list[str] = []

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        if not self.command:
            yield "command", "required"


class HTTPHeader(Api, frozen=True):
    name: str
    value: str = ""


class HTTPGetAction(Action, frozen=True):
    port: IntOrString
    path: str = ""
    host: str = ""
    scheme: str = "HTTP"
    httpHeaders: list[HTTPHeader] = []

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)
        if self.scheme not in ("", "HTTP", "HTTPS"):
            yield "scheme", f"{self.scheme[:60]!r} is not one of HTTP, HTTPS"
        for index, header in enumerate(self.httpHeaders):
            if wrong := formats.header_name(header.name):
                yield f"httpHeaders[{index}].name", wrong


class TCPSocketAction(Action, frozen=True):
    port: IntOrString
    host: str = ""

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)


class GRPCAction(Action, frozen=True):
    port: int
    service: str | None = None

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        yield from _port_problems(self.port, ports)


class SleepAction(Action, frozen=True):
    seconds: int

    def problems(self, ports: Collection[str]) -> Iterator[Problem]:
        if self.seconds < 0:
            yield "seconds", f"{self.seconds} is not at least 0"


def _port_problems(port: IntOrString, ports: Collection[str]) -> Iterator[Problem]:
    wrong = ""
    if isinstance(port, int):
        wrong = formats.port_number(port)
    elif not port.isdigit() and port not in ports:
        wrong = formats.port_name(port)
    if wrong:
        yield "port", wrong


class ProbeHandler(Api, frozen=True):
    """Exactly one is set. A probe type for each is in `actors/prober/`."""

    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None


class Probe(ProbeHandler, frozen=True):
    """Times are whole seconds; defaults are those the API server fills in."""

    initialDelaySeconds: int = 0
    timeoutSeconds: int = 1
    periodSeconds: int = 10
    successThreshold: int = 1
    failureThreshold: int = 3
    terminationGracePeriodSeconds: int | None = None


class LifecycleHandler(Api, frozen=True):
    exec: ExecAction | None = None
    httpGet: HTTPGetAction | None = None
    tcpSocket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Api, frozen=True):
    postStart: LifecycleHandler | None = None
    preStop: LifecycleHandler | None = None
    stopSignal: str | None = None
