"""postStart and preStop: a command in the container, an HTTP request to it, or a pause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.http_get.dial import HTTP_FOR_HTTPS
from actors.shared.http_get.exchange import ExchangeError
from actors.shared.http_get.redirects import get_following
from actors.shared.kube.container import ContainerPort, HTTPGetAction, LifecycleHandler
from actors.shared.kube.host_port import joined

PodIp = Callable[[], Awaitable[str]]
"""Returns the address for a hook without a host."""
USER_AGENT: Final = "kube-lifecycle/1.36"


class HookFailed(Exception):
    """The hook failed; the text is for an event."""


async def run_hook(
    client: CriClient, handler: LifecycleHandler, container_id: str, pod_ip: PodIp, ports: list[ContainerPort]
) -> None:
    """Run it to its end. A tcpSocket hook is ignored, as in the kubelet.

    Raises HookFailed; Unavailable if the runtime went away meanwhile, so that the result is unknown.
    """
    if handler.exec is not None:
        try:
            result = await client.exec_sync(container_id, handler.exec.command)
        except Unavailable:
            raise
        except CriError as error:
            raise HookFailed(str(error)) from None
        if result.exit_code:
            output = (result.stdout + result.stderr)[-256:].decode(errors="replace")
            raise HookFailed(f"command {handler.exec.command} exited with {result.exit_code}: {output}")
    elif handler.httpGet is not None:
        await _http_get(handler.httpGet, handler.httpGet.host or await pod_ip(), _port(handler.httpGet, ports))
    elif handler.sleep is not None:
        await asyncio.sleep(handler.sleep.seconds)


def _port(action: HTTPGetAction, ports: list[ContainerPort]) -> int:
    """A port by number, or by the container's name for it."""
    if isinstance(action.port, int) or str(action.port).isdigit():
        return int(action.port)
    for port in ports:
        if port.name == action.port:
            return port.containerPort
    raise HookFailed(f"httpGet: the container has no port named {action.port!r}")


async def _http_get(action: HTTPGetAction, host: str, port: int) -> None:
    """Any response is a success. If the server answers HTTPS with HTTP, the request is repeated over HTTP without its
    credentials. Raises HookFailed."""
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    rest = f"://{joined(host, port)}{path}"
    headers = [(header.name, header.value) for header in action.httpHeaders]
    scheme = (action.scheme or "HTTP").lower()
    try:
        await get_following(scheme + rest, headers, USER_AGENT)
    except ExchangeError as error:
        if not str(error).endswith(HTTP_FOR_HTTPS):
            raise HookFailed(f"httpGet: {error}") from None
        try:
            without = [(name, value) for name, value in headers if name.lower() != "authorization"]
            await get_following("http" + rest, without, USER_AGENT)
        except ExchangeError:
            raise HookFailed(f"httpGet: {error}") from None
