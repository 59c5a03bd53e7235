"""The connection to a runtime's streaming server."""

from __future__ import annotations

import asyncio
import socket

from tornado.iostream import IOStream, StreamClosedError


class RuntimeStream(IOStream):
    """A runtime that takes no more input closes its end. tornado then closes this one at once, with the output that has
    come and is not read yet. Here such input is dropped, and the connection ends with the last of the output."""

    def write_to_fd(self, data: memoryview) -> int:
        try:
            return super().write_to_fd(data)
        except (BrokenPipeError, ConnectionResetError):
            return len(data)


async def connected(host: str, port: int) -> RuntimeStream:
    """To the first of the host's addresses that takes the connection. Raises OSError, StreamClosedError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    last: Exception = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
        stream = RuntimeStream(socket.socket(family, kind, protocol))
        try:
            await stream.connect(address)
        except (OSError, StreamClosedError) as error:
            last = error
        except BaseException:
            stream.close()
            raise
        else:
            return stream
        stream.close()
    raise last
