"""What the API requires of probes and lifecycle hooks (API reference, Probe and Lifecycle v1 core)."""

from __future__ import annotations

from typing import Final

from actors.shared.kube import formats
from actors.shared.kube.container import Container, HTTPGetAction, LifecycleHandler, Probe, TCPSocketAction

from .check import Check

ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
HOOK_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "sleep")


def check_probe(probe: Probe, name: str, container: Container, check: Check) -> None:
    """`name` is livenessProbe, readinessProbe or startupProbe."""
    _check_actions(probe, ACTIONS, container, check)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        check.at(field).between(getattr(probe, field), 0)
    if name != "readinessProbe" and probe.successThreshold > 1:
        check.at("successThreshold").fail("must be 1")
    if probe.terminationGracePeriodSeconds is not None:
        if name == "readinessProbe":
            check.at("terminationGracePeriodSeconds").fail("not for a readiness probe")
        check.at("terminationGracePeriodSeconds").between(probe.terminationGracePeriodSeconds, 1)
    if probe.grpc is not None:
        check.at("grpc.port").form(formats.port_number, probe.grpc.port)


def check_handler(handler: LifecycleHandler, container: Container, check: Check) -> None:
    """A postStart or preStop hook."""
    _check_actions(handler, HOOK_ACTIONS, container, check)
    if handler.sleep is not None:
        check.at("sleep.seconds").between(handler.sleep.seconds, 0)


def _check_actions(holder: object, names: tuple[str, ...], container: Container, check: Check) -> None:
    given = {name: action for name in names if (action := getattr(holder, name)) is not None}
    check.exactly_one(given, f"one of {', '.join(names)}")
    if "exec" in given:
        check.at("exec.command").required(given["exec"].command)
    if "httpGet" in given:
        _check_http(given["httpGet"], container, check.at("httpGet"))
    if "tcpSocket" in given:
        _check_port(given["tcpSocket"], container, check.at("tcpSocket"))


def _check_http(action: HTTPGetAction, container: Container, check: Check) -> None:
    _check_port(action, container, check)
    check.at("scheme").one_of(action.scheme, ("HTTP", "HTTPS"))
    for index, header in enumerate(action.httpHeaders):
        check.at("httpHeaders").item(index).at("name").form(formats.header_name, header.name)


def _check_port(action: HTTPGetAction | TCPSocketAction, container: Container, check: Check) -> None:
    port = action.port
    if isinstance(port, int):
        check.at("port").form(formats.port_number, port)
    elif not port.isdigit() and port not in {known.name for known in container.ports}:
        check.at("port").form(formats.port_name, port)
