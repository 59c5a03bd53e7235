"""The limits of the QoS tiers' cgroups. Pure.

A tier's CPU shares are the sum of its pods' requests. With `qosReserved` (gate QOSReserved), a percentage of the memory
that pods request is kept from the tiers below theirs (design proposal "pod resource management").
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.shared.config.fields.resources import parse_percent
from actors.shared.linux.cgroup_limits import MIN_SHARES, UNLIMITED, CgroupLimits

from ..admission.ledger import Ledger
from .pod_limits import BEST_EFFORT, BURSTABLE, GUARANTEED, milli_to_shares


def tier_limits(
    ledger: Ledger, memory: int, qos_reserved: Mapping[str, str], *, protects: bool | None = None
) -> dict[str, CgroupLimits]:
    """The limits by QoS class. `memory`: bytes that all pods may have, before eviction thresholds. `qos_reserved`:
    validated, `{"memory": "50%"}`. `protects`: whether the kernel protects the requested memory (MemoryQoS with
    TieredReservation); None: it cannot. The entry of Guaranteed is for kubepods, the parent of Guaranteed pods and of
    the other tiers."""
    shares = milli_to_shares(ledger.requested_by(BURSTABLE, "cpu"))
    burstable, best_effort = _memory(ledger, memory, qos_reserved.get("memory"))
    requested = ledger.requested_by(BURSTABLE, "memory") if protects else 0
    low = None if protects is None else requested
    found = {
        BURSTABLE: CgroupLimits(cpu_shares=shares, memory_bytes=burstable, memory_low=low),
        BEST_EFFORT: CgroupLimits(cpu_shares=MIN_SHARES, memory_bytes=best_effort),
    }
    if protects is not None:
        both = ledger.requested_by(GUARANTEED, "memory") + requested if protects else 0
        found[GUARANTEED] = CgroupLimits(
            memory_min=both, memory_low=requested
        )  # the kernel gives no tier more than kubepods
    return found


def _memory(ledger: Ledger, memory: int, share: str | None) -> tuple[int, int]:
    percent = parse_percent(share) if share else None
    if percent is None:
        return UNLIMITED, UNLIMITED
    burstable = memory - int(ledger.requested_by(GUARANTEED, "memory") * percent / 100)
    return max(0, burstable), max(0, burstable - int(ledger.requested_by(BURSTABLE, "memory") * percent / 100))
