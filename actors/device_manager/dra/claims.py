"""The claims that drivers may have prepared on this node, and the pods that use them, as one immutable value. Pure.

A claim is in it from before its first preparation until all its drivers have unprepared it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from actors.shared.kube.resource_claim_objects import ResourceClaim
from actors.shared.kube.resource_claims import ClaimUse, ResourceClaimError, base_request

ClaimKey = tuple[str, str]
"""(namespace, name)."""


class PreparedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a claim, as its driver has prepared it."""

    pool: str = ""
    device: str = ""
    share_id: str | None = None
    requests: tuple[str, ...] = ()
    """The requests of the claim that the device is for; none: all."""
    cdi_ids: tuple[str, ...] = ()

    def serves(self, request: str) -> bool:
        """`request`: '' for all."""
        if not request or not self.requests:
            return True
        return base_request(request) in map(base_request, self.requests)


class ClaimInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A claim."""

    uid: str
    name: str
    namespace: str
    pods: frozenset[str] = frozenset()
    """UIDs of the pods that use it."""
    drivers: dict[str, tuple[PreparedDevice, ...]] = {}
    """The drivers of its allocation, with the devices that they have prepared."""
    prepared: bool = False
    """This incarnation of the actor has seen all drivers prepare it. A later one asks them again: it does no harm."""

    @property
    def key(self) -> ClaimKey:
        return self.namespace, self.name

    def devices(self, request: str = "") -> Iterator[tuple[str, PreparedDevice]]:
        """Each device of that request, '' for all, with its driver."""
        for driver, devices in self.drivers.items():
            yield from ((driver, device) for device in devices if device.serves(request))


def claim_info(claim: ResourceClaim) -> ClaimInfo:
    """The record of an allocated claim that no pod uses yet."""
    allocation, meta = claim.status.allocation, claim.metadata
    results = allocation.devices.results if allocation is not None else []
    drivers: dict[str, tuple[PreparedDevice, ...]] = {result.driver: () for result in results}
    return ClaimInfo(uid=meta.uid, name=meta.name, namespace=meta.namespace, drivers=drivers)


class Claims(msgspec.Struct, frozen=True):
    """All of them. Each change is another value."""

    by_key: dict[ClaimKey, ClaimInfo] = {}

    # -- queries -----------------------------------------------------------------------------------------------------
    def get(self, key: ClaimKey) -> ClaimInfo | None:
        return self.by_key.get(key)

    def of_pod(self, uid: str) -> list[ClaimInfo]:
        return [claim for claim in self.by_key.values() if uid in claim.pods]

    @property
    def pods(self) -> frozenset[str]:
        """UIDs of all pods that use any."""
        return frozenset(uid for claim in self.by_key.values() for uid in claim.pods)

    def users(self, driver: str, devices: Iterable[tuple[str, str]]) -> frozenset[str]:
        """UIDs of the pods that use any of these devices, (pool, device) each, of the driver."""
        wanted = set(devices)
        return frozenset(
            uid
            for claim in self.by_key.values()
            if any((one.pool, one.device) in wanted for one in claim.drivers.get(driver, ()))
            for uid in claim.pods
        )

    def in_use(self) -> dict[str, int]:
        """The number of prepared claims by driver, and of all as `<any>`."""
        counts = {"<any>": 0}
        for claim in self.by_key.values():
            if claim.prepared:
                counts["<any>"] += 1
                for driver in claim.drivers:
                    counts[driver] = counts.get(driver, 0) + 1
        return counts

    def cdi_ids(self, namespace: str, uses: Iterable[ClaimUse]) -> list[str]:
        """The devices that a container gets from these claims, each once. Raises ResourceClaimError."""
        found: dict[str, None] = {}
        for use in uses:
            claim = self.get((namespace, use.claim))
            if claim is None:
                text = f"unable to get claim info for ResourceClaim {use.claim} in namespace {namespace}"
                raise ResourceClaimError(f"internal error: {text}")
            found |= dict.fromkeys(cdi for _, device in claim.devices(use.request) for cdi in device.cdi_ids)
        return list(found)

    # -- changes -----------------------------------------------------------------------------------------------------
    def used_by(self, claim: ClaimInfo, pod: str) -> Claims:
        """The pod uses the claim. Raises ResourceClaimError while another claim of that name is not unprepared."""
        known = self.get(claim.key)
        if known is not None and known.uid != claim.uid:
            text = f"old ResourceClaim with same name {claim.name} and different UID {known.uid} still exists"
            raise ResourceClaimError(f"{text} (previous pod force-deleted?!)")
        before = known or claim
        return self._with_claim(msgspec.structs.replace(before, pods=before.pods | {pod}))

    def with_devices(self, key: ClaimKey, driver: str, devices: tuple[PreparedDevice, ...]) -> Claims:
        """The driver has prepared the claim."""
        known = self.by_key[key]
        return self._with_claim(msgspec.structs.replace(known, drivers={**known.drivers, driver: devices}))

    def prepared(self, keys: Iterable[ClaimKey]) -> Claims:
        """All drivers have prepared these claims."""
        changed = {key: msgspec.structs.replace(self.by_key[key], prepared=True) for key in keys}
        return Claims({**self.by_key, **changed})

    def not_used_by(self, key: ClaimKey, pod: str) -> Claims:
        known = self.by_key[key]
        return self._with_claim(msgspec.structs.replace(known, pods=known.pods - {pod}))

    def without(self, keys: Iterable[ClaimKey]) -> Claims:
        """All drivers have unprepared these claims."""
        gone = set(keys)
        return Claims({key: claim for key, claim in self.by_key.items() if key not in gone})

    def _with_claim(self, claim: ClaimInfo) -> Claims:
        return Claims({**self.by_key, claim.key: claim})
