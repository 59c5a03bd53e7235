"""The resources in a container's status: those that the runtime has applied (KEP-1287). Pure.

A quantity keeps the notation of the spec while the runtime applies the same amount.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer, CriContainerState, CriResources
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.meta import Quantity
from actors.shared.kube.quantity import QuantityError, milli, quantity_value

MIN_REQUEST_MILLI: Final = 2
"""The kernel's minimum of cpu.shares. A smaller request is applied as this, and the status shows the requested
amount."""
MIN_LIMIT_MILLI: Final = 10
"""The kernel's minimum CFS quota, treated in the same way."""
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def container_resources(
    container: Container, newest: CriContainer | None, actual: Mapping[str, ResourceRequirements]
) -> ResourceRequirements | None:
    """None: the container has not been created. `actual`: by container name, the resources that it has during a resize,
    as the worker reports; without an entry they are those of the spec.
    """
    if newest is None:
        return None
    given = actual.get(container.name, container.resources)
    applied = newest.resources
    if newest.state is not CriContainerState.RUNNING or applied is None:
        return given
    return msgspec.structs.replace(given, limits=_limits(given.limits, applied), requests=_requests(given, applied))


def _limits(given: dict[str, Quantity], applied: CriResources) -> dict[str, Quantity]:
    """A container with any limit also shows those that come from its pod."""
    shown = dict(given)
    if given and applied.cpu_quota > 0 and applied.cpu_period > 0:
        cpu = applied.cpu_quota * 1000 // applied.cpu_period
        shown |= _cpu(given.get("cpu"), cpu, MIN_LIMIT_MILLI)
    if given and applied.memory_limit_bytes > 0:
        shown["memory"] = _memory(given.get("memory"), applied.memory_limit_bytes)
    return shown


def _requests(given: ResourceRequirements, applied: CriResources) -> dict[str, Quantity]:
    shown = dict(given.requests)
    if shown and applied.cpu_shares > 0:
        cpu = -(-applied.cpu_shares * 1000 // 1024)
        shown |= _cpu(shown.get("cpu"), cpu, MIN_REQUEST_MILLI)
    return shown


def _cpu(given: Quantity | None, applied_milli: int, least_milli: int) -> dict[str, Quantity]:
    """The entry of the applied CPU; none for the kernel's minimum, which is no request."""
    if given is not None:
        return {"cpu": _notated_cpu(given, applied_milli, least_milli)}
    return {"cpu": _cores(applied_milli)} if applied_milli > least_milli else {}


def _notated_cpu(given: Quantity, applied_milli: int, least_milli: int) -> Quantity:
    try:
        wanted = milli(given)
    except QuantityError:
        return given
    if wanted == applied_milli or (wanted <= least_milli and applied_milli <= least_milli):
        return given
    return _cores(applied_milli)


def _cores(applied_milli: int) -> Quantity:
    cores, rest = divmod(applied_milli, 1000)
    return f"{applied_milli}m" if rest else str(cores)


def _memory(given: Quantity | None, applied_bytes: int) -> Quantity:
    if given is not None and _stands_for(given, applied_bytes):
        return given
    amount, suffix = applied_bytes, 0
    while amount % 1024 == 0 and suffix < len(_BINARY) - 1:
        amount, suffix = amount // 1024, suffix + 1
    return f"{amount}{_BINARY[suffix]}"


def _stands_for(given: Quantity, applied_bytes: int) -> bool:
    """Whether the notation of the spec is kept, also for a text that is no quantity."""
    try:
        return quantity_value(given) == applied_bytes
    except QuantityError:
        return True
