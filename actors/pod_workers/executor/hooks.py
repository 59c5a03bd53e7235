"""postStart and preStop: a command in the container, an HTTP request to it, or a pause."""

from __future__ import annotations

import asyncio
import re
import ssl

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.kube.container import ContainerPort, HTTPGetAction, LifecycleHandler
from actors.shared.kube.host_port import joined

REQUEST_SECONDS = 60.0
MAX_HEAD_BYTES = 10 * 1024
_STATUS = re.compile(rb"[1-9][0-9]{2}\s*")
"""A container chooses the status line: int() refuses thousands of digits."""


class HookFailed(Exception):
    """The hook failed; the text is for an event."""


async def run_hook(
    client: CriClient, handler: LifecycleHandler, container_id: str, ip: str, ports: list[ContainerPort]
) -> None:
    """Run it to its end. A tcpSocket hook is ignored, as the reference does.

    Raises HookFailed; Unavailable when the runtime went away meanwhile, and nobody knows how far it came.
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
        await _http_get(handler.httpGet, handler.httpGet.host or ip, _port(handler.httpGet, ports))
    elif handler.sleep is not None:
        await asyncio.sleep(handler.sleep.seconds)


def _port(action: HTTPGetAction, ports: list[ContainerPort]) -> int:
    """A port by number, or by the name that the container gave it."""
    if isinstance(action.port, int) or str(action.port).isdigit():
        return int(action.port)
    for port in ports:
        if port.name == action.port:
            return port.containerPort
    raise HookFailed(f"httpGet: the container has no port named {action.port!r}")


async def _http_get(action: HTTPGetAction, host: str, port: int) -> None:
    context = None
    if action.scheme.upper() == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    at = joined(host, port)
    headers = {"Host": at, "User-Agent": "kube-lifecycle/1.36", "Accept": "*/*", "Connection": "close"}
    headers.update({header.name: header.value for header in action.httpHeaders})
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if any(char in path + head.replace("\r\n", "") for char in "\r\n"):
        raise HookFailed("httpGet: a path or header with a line break is refused")
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=MAX_HEAD_BYTES)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
                line = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError, OverflowError) as error:
        raise HookFailed(f"httpGet {at}{path}: {error or type(error).__name__}") from None
    words = line.split(b" ", 2)
    if len(words) < 2 or not _STATUS.fullmatch(words[1]) or int(words[1]) >= 400:
        raise HookFailed(f"httpGet {at}{path}: {line[:100].decode(errors='replace').strip()}")
