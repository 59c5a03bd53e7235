"""Has containerd free the disk space of removed containers, by its own API on the socket of CRI.

The layer of a removed container stays on the disk until containerd collects its garbage: by default after a hundred
changes of its records, or when an image is removed. It also does so at the end of a lease whose end is waited for.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

from proto import containerd_leases_pb2 as leases
from supervision.time_scale import scaled

from .errors import CriError, Unimplemented
from .leftover_tasks import NAMESPACE
from .methods import Method
from .transport import Transport

_SERVICE: Final = "containerd.services.leases.v1.Leases"
CREATE: Final[Method[Any, Any]] = Method(
    "CreateLease", f"/{_SERVICE}/Create", leases.CreateLeaseRequest, leases.CreateLeaseResponse, streams=False,
    headers=NAMESPACE,
)  # fmt: skip
DELETE: Final[Method[Any, Any]] = Method(
    "DeleteLease", f"/{_SERVICE}/Delete", leases.DeleteLeaseRequest, leases.DeleteLeaseResponse, streams=False,
    headers=NAMESPACE,
)  # fmt: skip
LEASE: Final = "troupelet-frees-space"
"""It holds nothing. One that a killed agent has left is used again."""
_SECONDS: Final = 60.0


async def free(transport: Transport) -> None:
    """Returns once the space is free; at once for another runtime than containerd. Raises CriError."""
    with contextlib.suppress(CriError):  # it is there already, or its deletion shows what is wrong
        await transport.call(CREATE, leases.CreateLeaseRequest(id=LEASE), scaled(_SECONDS))
    with contextlib.suppress(Unimplemented):
        await transport.call(DELETE, leases.DeleteLeaseRequest(id=LEASE, sync=True), scaled(_SECONDS))
