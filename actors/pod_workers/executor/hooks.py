"""postStart and preStop: a command in the container, an HTTP request to it, or a pause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.http_get.dialer import HTTP_FOR_HTTPS
from actors.shared.http_get.errors import ExchangeError, OwnShortageError
from actors.shared.http_get.redirects import get_following
from actors.shared.http_get.request import Headers, without
from actors.shared.http_get.target import TargetError, headers_of, url_of
from actors.shared.http_get.url import Url
from actors.shared.kube.container import Container, ContainerPort
from actors.shared.kube.go_text import quoted
from actors.shared.kube.handlers import LifecycleHandler
from actors.shared.kube.pod import Pod
from supervision.time_scale import scaled

PodIp = Callable[[], Awaitable[str]]
"""Returns the address for a hook without a host."""
USER_AGENT: Final = "kube-lifecycle/1.36"
SHORTAGE_SECONDS: Final = 1.0
"""The pause before a hook for which this process lacked a descriptor is tried again."""
PATIENCE_SECONDS: Final = 60.0
"""How long a hook without a deadline, a postStart hook, is tried so. Then it fails, as in the kubelet at once."""
MAX_OUTPUT: Final = 256
"""The most bytes of a hook's output that are shown."""


class HookFailed(Exception):
    """The hook failed. `output`: what its command wrote, which may hold secrets."""

    def __init__(self, why: str, output: str = "") -> None:
        super().__init__(why)
        self.output = output


def failure_text(handler: LifecycleHandler, container: Container, pod: Pod, failure: HookFailed) -> str:
    """Why the hook failed, in the kubelet's words. For the pod's status; the event has only a fixed text, because this
    may hold secrets."""
    meta = pod.metadata
    whose = f'for Container "{container.name}" in Pod "{meta.name}_{meta.namespace}({meta.uid})" failed'
    if handler.exec is not None:
        command, output = " ".join(handler.exec.command), quoted(failure.output)
        return f"Exec lifecycle hook ([{command}]) {whose} - error: {failure}, message: {output}"
    if handler.httpGet is not None:
        return f"HTTP lifecycle hook ({handler.httpGet.path}) {whose} - error: {failure}"
    return f"Cannot run handler: {failure}"


def unobserved(host: str) -> None:
    """Ignores that a hook fell back from HTTPS to HTTP."""


async def run_hook(
    client: CriClient,
    handler: LifecycleHandler,
    container_id: str,
    pod_ip: PodIp,
    ports: list[ContainerPort],
    on_fallback: Callable[[str], None] = unobserved,
    patience: float | None = None,
) -> None:
    """Run it to its end. `on_fallback` is called with the host and port of a server that answered HTTPS with HTTP, once
    HTTP has worked. `patience`: for so many seconds a request is tried again while this process lacks a descriptor for
    it; None: for PATIENCE_SECONDS.

    Raises HookFailed, also for tcpSocket, which the API accepts but documents as failing (API reference,
    LifecycleHandler); Unavailable if the runtime stopped answering meanwhile, so that the result is unknown.
    """
    if handler.exec is not None:
        await _run_command(client, handler.exec.command, container_id)
    elif handler.httpGet is not None:
        host = handler.httpGet.host or await pod_ip()
        try:
            url = url_of(handler.httpGet, ports, host)
        except TargetError as error:
            raise HookFailed(str(error)) from None
        give_up = asyncio.get_running_loop().time() + (scaled(PATIENCE_SECONDS) if patience is None else patience)
        if await _http_get(url, headers_of(handler.httpGet), container_id, give_up):
            on_fallback(url.host)
    elif handler.sleep is not None:
        await asyncio.sleep(handler.sleep.seconds)
    else:
        raise HookFailed(f"invalid handler: {'tcpSocket' if handler.tcpSocket is not None else 'none'}")


async def _run_command(client: CriClient, command: list[str], container_id: str) -> None:
    """Raises HookFailed, Unavailable."""
    try:
        result = await client.exec_sync(container_id, command)
    except Unavailable:
        raise
    except CriError as error:
        raise HookFailed(str(error)) from None
    if result.exit_code:
        why = f"command '{' '.join(command)}' exited with {result.exit_code}: {_text(result.stderr)}"
        raise HookFailed(why, _text(result.stdout + result.stderr))


def _text(output: bytes) -> str:
    """The last part of a hook's output."""
    return output[-MAX_OUTPUT:].decode(errors="replace")


async def _http_get(url: Url, headers: Headers, container_id: str, give_up: float) -> bool:
    """Any response is a success. If the server answers HTTPS with HTTP, the request is repeated over HTTP without its
    credentials. Returns whether it was. Raises HookFailed."""
    try:
        await _get(url, headers, container_id, give_up)
    except ExchangeError as error:
        if not str(error).endswith(HTTP_FOR_HTTPS):
            raise HookFailed(str(error)) from None
        plain = msgspec.structs.replace(url, scheme="http")
        try:
            await _get(plain, without(headers, "authorization"), container_id, give_up)
        except ExchangeError:
            raise HookFailed(str(error)) from None
        return True
    return False


async def _get(url: Url, headers: Headers, container_id: str, give_up: float) -> None:
    """While this process lacks descriptors, the hook waits, as it has not been sent, but not past `give_up`, by the
    clock of the loop. Raises ExchangeError."""
    clock = asyncio.get_running_loop().time
    while True:
        try:
            # as in the kubelet, which does not wait for a long body either
            await get_following(url, headers, USER_AGENT, whose=container_id, longer=False)
        except OwnShortageError:
            if clock() + SHORTAGE_SECONDS > give_up:
                raise
            await asyncio.sleep(SHORTAGE_SECONDS)
        else:
            return
