"""Serves a stream: finds the container, asks the runtime for a URL, joins the caller's connection to it.

A stream needs only the runtime and this server: it survives the restart of every other actor.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from tornado.iostream import StreamClosedError

from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.pods import FoundPod, find_pod, running_container
from actors.shared.cri.errors import CriError, NotFound

from . import stream_translator
from .caller_frames import CallerFrames
from .joined_streams import join
from .options import OptionsError, Streams
from .passed_status import PassedStatus
from .upstream import UpstreamError, open_upstream
from .websocket import accepted

GATE: Final = "ExtendWebSocketsToKubelet"
_BAD_REQUEST: Final = 400
_SPDY: Final = re.compile(rb"^upgrade:\s*spdy/", re.IGNORECASE | re.MULTILINE)
"""In the runtime's answer: it may choose SPDY for a caller who names several protocols."""
_TOKEN_SECONDS: Final = 60
"""Seconds that a runtime keeps the URL of an unused stream."""


async def find_for_stream(handler: ServerHandler, namespace: str, name: str, uid: str, other: HttpError) -> FoundPod:
    """The pod; with `uid`, only the one with this UID. Raises HttpError; `other` for a pod with another UID."""
    found = await find_pod(handler, namespace, name)
    if found is None:
        raise HttpError(404, "pod does not exist")
    if uid and uid not in (found.uid, found.pod.metadata.uid):
        raise other
    return found


def container_id(found: FoundPod, name: str, *, text: str = "") -> str:
    """The runtime's ID of a running container. Raises HttpError with this text, or the usual one for ''. Its status is
    500, as in the kubelet, where only a missing pod is a 404."""
    running = running_container(found.status, name)
    if not running:
        raise HttpError(500, text) if text else container_not_found(name)
    return running


def container_not_found(name: str) -> HttpError:
    return HttpError(500, f'container not found ("{name}")')


def query(handler: ServerHandler) -> dict[str, list[str]]:
    return {key: handler.get_query_arguments(key, strip=False) for key in handler.request.query_arguments}


class Target(msgspec.Struct, frozen=True):
    """The runtime's URL of the stream. `streams`: the streams of a process; None: ports."""

    url: str
    streams: Streams | None = None


async def serve(handler: ServerHandler, find_target: Callable[[], Awaitable[Target]]) -> None:
    """Answer with a stream. `find_target` asks the runtime for it. Raises HttpError.

    As in the kubelet, a missing pod is reported before a missing request for an upgrade.
    """
    of = handler.path_kwargs
    try:
        with handler.state.streams.one_more(f"{of['namespace']}/{of['pod']}"):  # also while the runtime is asked
            target = await find_target()
            _check_upgrade(handler)
            await _join(handler, target)
    except OptionsError as error:
        raise HttpError(_BAD_REQUEST, str(error)) from None
    except CriError as error:
        raise HttpError(_status_of(handler, error), error.rpc_text) from None
    except UpstreamError as error:
        raise HttpError(500, str(error)) from None


def _check_upgrade(handler: ServerHandler) -> None:
    headers = handler.request.headers
    if "upgrade" not in headers.get("Connection", "").lower() or not headers.get("Upgrade"):
        raise HttpError(_BAD_REQUEST, "you must ask for an upgrade of the connection (SPDY/3.1 or websocket)")


def _status_of(handler: ServerHandler, error: CriError) -> int:
    """The HTTP status for an error of the runtime. It answers ResourceExhausted if it has too many streams: 429."""
    if error.code == "RESOURCE_EXHAUSTED":
        handler.set_header("Retry-After", str(_TOKEN_SECONDS))
        return 429
    return 404 if isinstance(error, NotFound) else 500


def translated_protocol(handler: ServerHandler) -> str:
    """The protocol of a WebSocket that is translated to SPDY, '' for other requests."""
    return stream_translator.protocol(handler.request.headers) if handler.state.agent.gate(GATE) else ""


async def _join(handler: ServerHandler, target: Target) -> None:
    request_headers, stream_protocol = handler.request.headers, translated_protocol(handler)
    if stream_protocol and (stream_protocol == stream_translator.V5) != (target.streams is not None):
        raise HttpError(_BAD_REQUEST, f"the protocol {stream_protocol} is not for this stream")
    method = "POST" if stream_protocol else handler.request.method or "GET"
    headers = (
        stream_translator.upstream_headers(request_headers, stream_protocol) if stream_protocol else request_headers
    )
    upstream, answer = await open_upstream(target.url, method, headers)
    if answer.status != 101:
        raise HttpError(answer.status if answer.status >= _BAD_REQUEST else 500, answer.body or "the runtime refused")
    if handler.disconnected:
        upstream.close()
        return
    caller = handler.detach()
    caller.set_nodelay(True)
    handler.set_status(answer.status)  # for the log and the span: the answer itself is the runtime's
    if request_headers["Upgrade"].lower() == "websocket":
        kind = handler.request.path.split("/", 2)[1].lower()
        handler.state.actor.metrics.count("kubelet_websocket_streaming_requests_total", subresource=kind)
    try:
        await caller.write(
            accepted(request_headers["Sec-WebSocket-Key"], stream_protocol) if stream_protocol else answer.head
        )
    except StreamClosedError:
        upstream.close()
        return
    idle, turns = handler.state.agent.config.streamingConnectionIdleTimeout, handler.state.turns
    if not stream_protocol:
        over_spdy = bool(_SPDY.search(answer.head))
        status = PassedStatus() if over_spdy and target.streams is not None else None
        await join(caller, upstream, idle, turns, status, CallerFrames() if over_spdy else None)
        return
    between = stream_translator.Tunnel() if target.streams is None else stream_translator.Channels(target.streams)
    await stream_translator.join_translated(caller, upstream, between, idle, turns)
