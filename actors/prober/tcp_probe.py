"""Can a TCP connection be made? It is closed at once.

No SO_LINGER as in the reference: closing a socket that lingers blocks the whole process until the peer answers.
"""

from __future__ import annotations

import asyncio

from actors.shared.kube.host_port import joined

from .outcome import Outcome, failure, network_text, success, timed_out


async def probe_tcp(host: str, port: int, timeout: float) -> Outcome:
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return timed_out(timeout)
    except (OSError, ValueError, OverflowError) as error:  # a host that is no name of one: nobody has checked it before
        return failure(f"dial tcp {joined(host, port)}: {network_text(error)}")
    writer.close()
    return success()
