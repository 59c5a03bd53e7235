"""What is to be probed of a pod, and where: ports by name, the pod's address, commands with variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from actors.shared.kube.container import Container, HTTPGetAction, Probe
from actors.shared.kube.meta import IntOrString
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import sidecars

from .http_probe import HttpTarget
from .thresholds import Kind

KINDS: Final[tuple[tuple[Kind, str], ...]] = (
    ("startup", "startupProbe"), ("liveness", "livenessProbe"), ("readiness", "readinessProbe"),
)  # fmt: skip
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class TargetError(ValueError):
    """The probe names something that is not there."""


def probes_of(pod: Pod) -> Iterator[tuple[Container, Kind, Probe]]:
    """Of regular containers and sidecars; other init containers have none."""
    for container in (*sidecars(pod), *pod.spec.containers):
        for kind, field in KINDS:
            probe: Probe | None = getattr(container, field)
            if probe is not None:
                yield container, kind, probe


def port_of(port: IntOrString, container: Container) -> int:
    """A number, or the name of one of the container's ports. Raises TargetError."""
    number = port
    if isinstance(port, str):
        named = next((each.containerPort for each in container.ports if each.name == port), None)
        number = named if named is not None else int(port) if port.isascii() and port.isdigit() else 0
    if not isinstance(number, int) or not 1 <= number <= 65535:
        raise TargetError(f"invalid port {port!r}")
    return number


def http_target(action: HTTPGetAction, container: Container, ip: str) -> HttpTarget:
    """Raises TargetError."""
    headers = [(header.name, header.value) for header in action.httpHeaders]
    host = action.host or ip
    if not host:
        raise TargetError("the pod has no address yet")
    return HttpTarget(action.scheme or "HTTP", host, port_of(action.port, container), action.path, headers)


def command_of(command: list[str], container: Container) -> list[str]:
    """The command with $(NAME) replaced, from the variables that the manifest gives itself; $$ is a $."""
    known = {variable.name: variable.value for variable in container.env if variable.valueFrom is None}
    return [expanded(argument, known) for argument in command]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """References to what is not known stay as they are."""

    def replace(match: re.Match[str]) -> str:
        name: str | None = match.group(1)
        if name is None:
            return "$"
        return known.get(name, match.group(0))

    return _REFERENCE.sub(replace, text)
