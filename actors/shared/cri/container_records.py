"""Whether containerd has a record of a container or sandbox, by its own API on the socket of CRI. CRI lists only those
that its plug-in could load."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from proto import containerd_containers_pb2 as containers
from supervision.time_scale import scaled

from .errors import CriError, NotFound
from .leftover_tasks import NAMESPACE
from .methods import Method
from .transport import Transport

GET: Final[Method[Any, Any]] = Method(
    "GetContainer",
    "/containerd.services.containers.v1.Containers/Get",
    containers.GetContainerRequest,
    containers.GetContainerResponse,
    streams=False,
    headers=NAMESPACE,
)
_SECONDS: Final = 10.0


async def missing(ids: Iterable[str], transport: Transport) -> list[str]:
    """Those of which containerd says that it has no record."""
    found = []
    for each in ids:
        try:
            await transport.call(GET, containers.GetContainerRequest(id=each), scaled(_SECONDS))
        except NotFound:
            found.append(each)
        except CriError:
            continue
    return found
