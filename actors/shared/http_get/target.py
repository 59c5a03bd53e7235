"""The address and port that an HTTPGetAction or another action names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from actors.shared.kube.container import ContainerPort
from actors.shared.kube.handlers import HTTPGetAction
from actors.shared.kube.meta import IntOrString

from .request import Headers
from .url import Url, UrlError, probe_url

_NUMBER: Final = re.compile("[+-]?[0-9]+")
_LARGEST: Final = 1 << 63


class TargetError(ValueError):
    """The action names something that does not exist."""


def port_number(port: IntOrString, ports: Sequence[ContainerPort]) -> int:
    """A number, or the name of one of the container's ports. Raises TargetError, in the kubelet's words."""
    if isinstance(port, str):
        named = next((each.containerPort for each in ports if each.name == port), None)
        if named is None and not _NUMBER.fullmatch(port):
            raise TargetError(f'strconv.Atoi: parsing "{port}": invalid syntax')
        if named is None and not -_LARGEST <= _integer(port) < _LARGEST:
            raise TargetError(f'strconv.Atoi: parsing "{port}": value out of range')
        port = named if named is not None else _integer(port)
    if not isinstance(port, int) or not 1 <= port <= 65535:
        raise TargetError(f"invalid port number: {port}")
    return port


def _integer(text: str) -> int:
    """For a longer text the value is only known to be out of range."""
    return int(text[:40])


def url_of(action: HTTPGetAction, ports: Sequence[ContainerPort], pod_ip: str) -> Url:
    """Raises TargetError."""
    port = port_number(action.port, ports)
    try:
        return probe_url(action.scheme or "HTTP", action.host or pod_ip, port, action.path)
    except UrlError as problem:
        raise TargetError(str(problem)) from problem


def headers_of(action: HTTPGetAction) -> Headers:
    return [(header.name, header.value) for header in action.httpHeaders]
