"""The connection to a runtime's streaming server."""

from __future__ import annotations

import asyncio
import socket

from tornado.iostream import IOStream, StreamClosedError


class RuntimeStream(IOStream):
    """When a runtime accepts no more input it closes its end, and tornado then closes the connection at once, with
    output that is received but not read. Here such input is dropped, and the connection ends after the output.
    """

    def write_to_fd(self, data: memoryview) -> int:
        try:
            return super().write_to_fd(data)
        except (BrokenPipeError, ConnectionResetError):
            return len(data)


async def connected(host: str, port: int) -> RuntimeStream:
    """Connect to the first address of the host that accepts. Raises OSError, StreamClosedError."""
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
