"""The call to each driver for all claims of a pod, and the meaning of its answer. Pure.

The texts of errors are the kubelet's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.kube.resource_claims import ResourceClaimError

from .claims import ClaimInfo

MOST_TEXT: Final = 4096
"""Characters of a driver's text that are shown; logs quote it at each try."""


class ClaimRef(msgspec.Struct, frozen=True):
    """A claim, as in calls to drivers."""

    namespace: str
    uid: str
    name: str


def batches(claims: Iterable[ClaimInfo]) -> dict[str, list[ClaimRef]]:
    """The claims of each driver that has a part in them."""
    found: dict[str, list[ClaimRef]] = {}
    for claim in claims:
        for driver in claim.drivers:
            found.setdefault(driver, []).append(ClaimRef(claim.namespace, claim.uid, claim.name))
    return found


def check_answer(method: str, requested: Iterable[ClaimRef], errors: Mapping[str, str]) -> None:
    """`errors`: the driver's answer by claim UID, '' for success. Raises ResourceClaimError unless all claims
    succeeded."""
    names = {claim.uid: claim.name for claim in requested}
    for uid, error in errors.items():
        if uid not in names:
            raise ResourceClaimError(f"{method} returned result for unknown claim UID {uid[:MOST_TEXT]}")
        if error:
            raise ResourceClaimError(f"{method} failed for ResourceClaim {names[uid]}: {error[:MOST_TEXT]}")
    if missing := len(names) - len(errors):
        raise ResourceClaimError(f"{method} skipped {missing} ResourceClaims")
