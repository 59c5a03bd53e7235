"""A gRPC server on a Unix socket. Imported for the first client: gRPC costs memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc.aio

from actors.shared.grpc_threads import ensure_threads


async def serve(
    path: str, add: Callable[[grpc.aio.Server], None], calls_at_once: int, options: Sequence[tuple[str, int]] = ()
) -> grpc.aio.Server:
    """Start a server with the services that `add` gives it. `calls_at_once`: the most calls; others are refused.
    Raises OSError: the socket cannot be bound, or there is no room for threads."""
    ensure_threads()
    server = grpc.aio.server(maximum_concurrent_rpcs=calls_at_once, options=options)
    add(server)
    try:
        server.add_insecure_port(f"unix://{path}")
    except RuntimeError as error:
        raise OSError(f"cannot listen on {path}: {error}") from error
    await server.start()
    return server
