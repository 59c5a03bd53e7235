"""Serves a stream: finds the container, asks the runtime for a URL, joins the caller's connection to it.

A stream needs only the runtime and this server: it survives the restart of every other actor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from tornado.iostream import StreamClosedError

from actors.http_servers.serving.handler import Handler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.pods import FoundPod, find_pod, running_container
from actors.shared.cri.errors import CriError, NotFound

from .joined_streams import join
from .options import OptionsError
from .upstream import UpstreamError, open_upstream

MAX_STREAMS: Final = 512
_BAD_REQUEST: Final = 400


async def find_for_stream(handler: Handler, namespace: str, name: str, uid: str) -> FoundPod:
    """The pod; with `uid`, only the one with this UID. Raises HttpError."""
    found = await find_pod(handler, namespace, name)
    if found is None or (uid and uid not in (found.uid, found.pod.metadata.uid)):
        raise HttpError(404, "pod does not exist")
    return found


def container_id(found: FoundPod, name: str) -> str:
    """The runtime's ID of a running container. Raises HttpError."""
    running = running_container(found.status, name)
    if not running:
        raise HttpError(404, f'container not found ("{name}")')
    return running


def query(handler: Handler) -> dict[str, list[str]]:
    return {key: handler.get_query_arguments(key, strip=False) for key in handler.request.query_arguments}


async def serve(handler: Handler, find_url: Callable[[], Awaitable[str]]) -> None:
    """Answer with a stream. `find_url` asks the runtime for the URL of the stream. Raises HttpError."""
    headers = handler.request.headers
    if "upgrade" not in headers.get("Connection", "").lower() or not headers.get("Upgrade"):
        raise HttpError(_BAD_REQUEST, "you must ask for an upgrade of the connection (SPDY/3.1 or websocket)")
    try:
        url = await find_url()
        if handler.state.streams >= MAX_STREAMS:
            raise HttpError(429, f"there are {MAX_STREAMS} streams already")
        handler.state.streams += 1
        try:
            await _join(handler, url)
        finally:
            handler.state.streams -= 1
    except OptionsError as error:
        raise HttpError(_BAD_REQUEST, str(error)) from None
    except (CriError, UpstreamError) as error:
        raise HttpError(404 if isinstance(error, NotFound) else 500, str(error)) from None


async def _join(handler: Handler, url: str) -> None:
    upstream, answer = await open_upstream(url, handler.request.method or "GET", handler.request.headers)
    if answer.status != 101:
        raise HttpError(answer.status if answer.status >= _BAD_REQUEST else 500, answer.body or "the runtime refused")
    if handler.disconnected:
        upstream.close()
        return
    caller = handler.detach()
    caller.set_nodelay(True)
    handler.set_status(answer.status)  # for the log and the span: the answer itself is the runtime's
    if handler.request.headers["Upgrade"].lower() == "websocket":
        kind = handler.request.path.split("/", 2)[1].lower()
        handler.state.actor.metrics.count("kubelet_websocket_streaming_requests_total", subresource=kind)
    try:
        await caller.write(answer.head)
    except StreamClosedError:
        upstream.close()
        return
    await join(caller, upstream, handler.state.agent.config.streamingConnectionIdleTimeout)
