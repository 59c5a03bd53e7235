"""TCP probes: a connection that can be made is a success. It is closed at once.

Without the kubelet's SO_LINGER: closing a socket that lingers blocks the whole process until the peer answers.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from actors.shared.http_get.dialer import DialError, ShortDialError, dial
from actors.shared.http_get.target import port_number
from actors.shared.kube.handlers import TCPSocketAction
from actors.shared.kube.host_port import joined

from .outcome import ProbeOutcome, error, failure, success
from .probe_type import ProbeType, Subject


class TcpProbe(ProbeType[TCPSocketAction]):
    """A TCP probe of the pod's address, unless the action names a host."""

    field: ClassVar[str] = "tcpSocket"

    def needs_pod_ip(self, action: TCPSocketAction) -> bool:
        return not action.host

    async def run(self, action: TCPSocketAction, subject: Subject) -> ProbeOutcome:
        host, port = action.host or subject.pod_ip, port_number(action.port, subject.container.ports)
        return await probe_tcp(host, port, subject.timeout_seconds, subject.key[0])


async def probe_tcp(host: str, port: int, timeout: float, whose: str = "") -> ProbeOutcome:
    """`whose`: the pod's UID."""
    try:
        async with asyncio.timeout(timeout):
            _, writer = await dial(host, port, whose=whose)
    except TimeoutError:
        return failure(f"dial tcp {joined(host, port)}: i/o timeout")
    except ShortDialError as problem:
        return error(str(problem))
    except DialError as problem:
        return failure(str(problem))
    writer.close()
    return success()
