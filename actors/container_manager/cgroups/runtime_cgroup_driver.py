"""Asks the runtime for its cgroup driver (KEP-4033). Runs in a disposable process, which keeps the gRPC library out of
the actor's memory."""

from __future__ import annotations

import asyncio
import time

_PAUSE_SECONDS = 0.1


class NoRuntimeAnswer(Exception):
    """The runtime has not answered in time."""


def ask(endpoint: str, seconds: float) -> str:
    """`cgroupfs` or `systemd`; '' if the runtime does not report it. Raises NoRuntimeAnswer if it does not answer
    within `seconds`."""
    return asyncio.run(_ask(endpoint, seconds))


async def _ask(endpoint: str, seconds: float) -> str:
    from actors.shared.cri.client import CriClient
    from actors.shared.cri.errors import CriError

    end = time.monotonic() + seconds
    client = CriClient(endpoint, request_seconds=seconds)
    try:
        while True:
            try:
                return await client.cgroup_driver() or ""
            except CriError as error:
                if time.monotonic() + _PAUSE_SECONDS > end:
                    raise NoRuntimeAnswer(str(error)) from None
            await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        await client.close()
