"""Asks the runtime for its cgroup driver (KEP-4033). Runs in a disposable process, which keeps the gRPC library out of
the actor's memory."""

from __future__ import annotations

import asyncio
import time

_PAUSE_SECONDS = 0.1


def ask(endpoint: str, seconds: float) -> str | None:
    """`cgroupfs` or `systemd`; '' if the runtime does not report it; None if it does not answer within `seconds`."""
    return asyncio.run(_ask(endpoint, seconds))


async def _ask(endpoint: str, seconds: float) -> str | None:
    from actors.shared.cri.client import CriClient
    from actors.shared.cri.errors import CriError

    end = time.monotonic() + seconds
    client = CriClient(endpoint, request_seconds=seconds)
    try:
        while True:
            try:
                return await client.cgroup_driver() or ""
            except CriError:
                if time.monotonic() + _PAUSE_SECONDS > end:
                    return None
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        await client.close()
