"""The service on kubelet.sock, over gRPC. Imported for the first plugin that connects."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import grpc
import grpc.aio

from actors.shared import grpc_server
from actors.shared.plugins.model import PluginError
from actors.shared.relay import MAX_CLIENTS
from proto import device_plugin_pb2 as api
from proto import device_plugin_pb2_grpc as stubs

from .registration import Registration

CALLS_OF_A_CONNECTION: Final = 8
"""The most calls of one connection at a time: those that have to wait are kept in memory."""
CALLS_AT_ONCE: Final = MAX_CLIENTS * CALLS_OF_A_CONNECTION
MOST_BYTES: Final = 64 * 1024
"""The most bytes of a request, which has three names."""
Context = grpc.aio.ServicerContext[Any, Any]


class RegistrationService(stubs.RegistrationServicer):
    def __init__(self, registration: Registration) -> None:
        self._registration = registration

    async def Register(self, request: api.RegisterRequest, context: Context) -> api.Empty:
        try:
            await self._registration.by_request(request.version, request.endpoint, request.resource_name)
        except PluginError as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
        return api.Empty()


async def serve(registration: Registration, path: str) -> grpc.aio.Server:
    """Start the server of it on a Unix socket. Raises OSError, as `grpc_server.serve`."""
    options = [("grpc.max_receive_message_length", MOST_BYTES), ("grpc.max_concurrent_streams", CALLS_OF_A_CONNECTION)]
    add = partial(stubs.add_RegistrationServicer_to_server, RegistrationService(registration))
    return await grpc_server.serve(path, add, CALLS_AT_ONCE, options)
