"""Calls to a registration socket. Imported with the first socket only: it needs gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import grpc
import grpc.aio

from actors.shared.grpc_threads import ensure_threads
from actors.shared.kube.go_text import UNREADABLE, client_details, rpc_error
from proto import plugin_registration_pb2 as registration
from proto import plugin_registration_pb2_grpc
from supervision.time_scale import scaled

from .model import Plugin, PluginError

DIAL_SECONDS: Final = 10.0
INFO_SECONDS: Final = 1.0
NOTIFY_SECONDS: Final = 5.0
MOST_BYTES: Final = 4 << 20
"""The most bytes of an answer, as with the kubelet. Millions of empty parts would fill the memory."""
MOST_INFO_BYTES: Final = 64 << 10
"""The most bytes of a registration: some names, which the log quotes at each try."""
OPTIONS: Final = (
    ("grpc.default_authority", "localhost"),  # Go's HTTP/2 server refuses a path in :authority
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.http2.bdp_probe", 0),  # which lets a plugin send megabytes that nobody has read yet
    ("grpc.use_local_subchannel_pool", 1),  # otherwise a replaced plugin's connection would be reused for the new one
)
"""Options of a channel to a plugin."""
CLOSED: Final = rpc_error("CANCELLED", "the connection was closed")
"""The error of a call whose channel was closed because the plugin is gone."""
_Answer = TypeVar("_Answer")
CHANNEL_CLOSED: Final = (asyncio.CancelledError, grpc.aio.UsageError)
"""What a call raises whose channel is closed: during the call, and before it."""


def channel_to(path: str, most_bytes: int = MOST_BYTES) -> grpc.aio.Channel:
    """A channel to the Unix socket at `path`. `most_bytes`: of an answer. Raises OSError without room for threads."""
    ensure_threads()
    options = (*OPTIONS, ("grpc.max_receive_message_length", most_bytes))
    return grpc.aio.insecure_channel(f"unix://{path}", options=options)


def raise_if_ending() -> None:
    """Handle CHANNEL_CLOSED. Raises CancelledError if it is the waiting task itself that is cancelled."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Registrar:
    """The plugin behind the registration socket at `path`. Each call raises PluginError."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._channel = channel_to(path, MOST_INFO_BYTES)
        self._stub: Any = plugin_registration_pb2_grpc.RegistrationStub(self._channel)

    async def close(self) -> None:
        await self._channel.close(None)

    async def get_info(self) -> Plugin:
        try:
            await asyncio.wait_for(self._channel.channel_ready(), scaled(DIAL_SECONDS))
        except TimeoutError:
            raise PluginError(f"RegisterPlugin error -- dial failed at socket {self._path}: no answer") from None
        found: registration.PluginInfo = await self._call(
            "get plugin info using RPC GetInfo",
            self._stub.GetInfo(registration.InfoRequest(), timeout=scaled(INFO_SECONDS)),
        )
        if "\0" in found.endpoint:  # no path: each system call would raise ValueError
            raise PluginError(f"RegisterPlugin error -- the endpoint {found.endpoint!r} is no path of a socket")
        return Plugin(
            socket=self._path,
            kind=found.type,
            name=found.name,
            endpoint=found.endpoint or self._path,
            versions=tuple(found.supported_versions),
        )

    async def notify(self, error: str) -> None:
        """Notify the plugin that it is registered, or why not."""
        status = registration.RegistrationStatus(plugin_registered=not error, error=error)
        await self._call(
            "send registration status",
            self._stub.NotifyRegistrationStatus(status, timeout=scaled(NOTIFY_SECONDS)),
        )

    async def _call(self, what: str, call: Awaitable[_Answer | None]) -> _Answer:
        try:
            answer = await call
            if answer is not None:
                return answer
            reason = rpc_error("INTERNAL", UNREADABLE)
        except grpc.aio.AioRpcError as error:
            reason = rpc_error(error.code().name, client_details(error.details() or ""))
        raise PluginError(f"RegisterPlugin error -- failed to {what} at socket {self._path}, err: {reason}")
