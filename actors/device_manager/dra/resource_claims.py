"""Dynamic resource allocation in the device manager: drivers, claims, answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from actors.device_manager.messages import (
    ClaimDevices,
    ClaimedDevice,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    GetClaimDevices,
    PodClaim,
    PodClaims,
    PrepareClaims,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.shared.kube.resource_claims import ResourceClaimError, claim_uses
from actors.shared.pod_inventory import PodInventory
from actors.shared.state_files import StateFiles
from actors.shared.steady_clock import steady_clock
from actors.status_manager.messages import STATUS_MANAGER, ClaimedDeviceHealth, ClaimedDevices
from supervision.actor import Actor

from .claim_store import ClaimStore
from .claims import ClaimInfo, PreparedDevice
from .drivers import Connect, DraDrivers
from .health import DeviceId, DraDeviceHealth, DraHealth
from .health_watch import HealthWatch
from .preparation import Preparation
from .slices import ResourceSlices

if TYPE_CHECKING:
    from .connection import DraConnection

RECONCILE_SECONDS: Final = 60.0


class ResourceClaims:
    """`drivers` is the handler of plugins of type DRAPlugin."""

    def __init__(
        self, actor: Actor, agent: Agent, connect: Connect | None = None, clock: Callable[[], float] | None = None
    ) -> None:
        """`connect` makes the connection to a driver; `clock`: seconds since 1970, steady."""
        self._actor, self._clock = actor, clock or steady_clock()
        self._messages = agent.gate("ResourceHealthStatusMessage")
        self._extended = agent.gate("DRAExtendedResource")
        self.store = ClaimStore(StateFiles.of(actor, agent), actor.metrics)
        self.drivers = DraDrivers(actor, self, connect)
        self._preparation = Preparation(actor, self.store, self.drivers.get, extended=self._extended)
        self._slices = None if agent.standalone else ResourceSlices(actor, agent.node_name, self.drivers.connected)
        watches = agent.gate("ResourceHealthStatus")
        self._health = HealthWatch(actor, agent.root_dir, self._health_changed, self._clock) if watches else None
        self._inventory = PodInventory()
        self._unknown: frozenset[str] = frozenset()
        """Pods with claims that no worker had at the last look."""

    def start(self) -> None:
        """Raises ResourceClaimError: the prepared claims are not known; OSError."""
        self.store.load()
        if self._health is not None:
            self._health.load()
        self.tell_all_health()
        if self._slices is not None:
            self._slices.start()
        self._actor.every(RECONCILE_SECONDS, self.reconcile, jitter=0.1)

    # -- of workers --------------------------------------------------------------------------------------------------
    async def prepare(self, message: PrepareClaims) -> ClaimsPrepared | ClaimsFailed:
        try:
            await self._preparation.prepare(_pod(message.uid, message.pod))
        except (ResourceClaimError, ObjectError) as error:
            return ClaimsFailed(message.uid, str(error))
        self._tell_health([message.uid])
        return ClaimsPrepared(message.uid)

    def devices(self, message: GetClaimDevices) -> ClaimDevices | ClaimsFailed:
        uid, name = message.uid, message.container
        try:
            pod = _pod(uid, message.pod)
            container = find_container(pod, name)
            uses = claim_uses(pod, container, extended=self._extended) if container is not None else []
            found = self.store.claims.cdi_ids(pod.metadata.namespace, uses)
        except (ResourceClaimError, ObjectError) as error:
            return ClaimsFailed(uid, str(error))
        return ClaimDevices(uid, name, found)

    async def unprepare(self, uid: str) -> ClaimsUnprepared | ClaimsFailed:
        try:
            await self._preparation.unprepare(uid)
        except ResourceClaimError as error:
            return ClaimsFailed(uid, str(error))
        return ClaimsUnprepared(uid)

    # -- pods that no worker has ---------------------------------------------------------------------------------------
    def know(self, message: ShardPods) -> None:
        self._inventory.update(message.worker, message.workers, message.uids)

    async def reconcile(self) -> None:
        """Unprepare the claims of pods that no worker has, now and at the last look: their worker died before it could
        ask, or they were deleted while the agent was not there."""
        if not self._inventory.complete:
            return
        unknown = frozenset(uid for uid in self.store.claims.pods if uid not in self._inventory)
        due, self._unknown = unknown & self._unknown, unknown
        for uid in sorted(due):
            answer = await self.unprepare(uid)
            if isinstance(answer, ClaimsFailed):
                text = "claims of pod %s, which is gone, stay prepared for now: %s"
                self._actor.log.warning(text, uid, answer.message)

    # -- of others -----------------------------------------------------------------------------------------------------
    def all(self) -> PodClaims:
        return PodClaims(
            [
                PodClaim(
                    namespace=claim.namespace,
                    name=claim.name,
                    pods=sorted(claim.pods),
                    devices=[
                        ClaimedDevice(
                            driver=driver,
                            pool=one.pool,
                            device=one.device,
                            share_id=one.share_id,
                            requests=list(one.requests),
                            cdi_devices=list(one.cdi_ids),
                        )
                        for driver, one in claim.devices()
                    ],
                )
                for claim in self.store.claims.by_key.values()
            ]
        )

    # -- of drivers ----------------------------------------------------------------------------------------------------
    def presence(self, driver: str, *, there: bool) -> None:
        if self._slices is not None:
            self._slices.presence(driver, there=there)

    def plugin_registered(self, driver: str, connection: DraConnection) -> None:
        if self._health is not None:
            self._health.follow(driver, connection)

    def plugin_deregistered(self, connection: DraConnection) -> None:
        if self._health is not None:
            self._health.unfollow(connection)

    def _health_changed(self, driver: str, devices: frozenset[DeviceId]) -> None:
        self._tell_health(self.store.claims.users(driver, devices))

    def tell_all_health(self) -> None:
        """The status manager has none."""
        self._tell_health(self.store.claims.pods)

    def _tell_health(self, pods: Iterable[str]) -> None:
        if self._health is None:
            return
        for uid in sorted(pods):
            claims = {claim.name: self._devices(claim) for claim in self.store.claims.of_pod(uid)}
            self._actor.tell(STATUS_MANAGER, ClaimedDevices(uid, claims))

    def _devices(self, claim: ClaimInfo) -> list[ClaimedDeviceHealth]:
        return [
            ClaimedDeviceHealth(
                resource_id=one.cdi_ids[0] if one.cdi_ids else f"{driver}/{one.pool}/{one.device}",
                requests=list(one.requests),
                health=known.health,
                message=known.message if self._messages else "",
            )
            for driver, one in claim.devices()
            if (known := self._known_health(driver, one))
        ]

    def _known_health(self, driver: str, device: PreparedDevice) -> DraDeviceHealth:
        health = self._health.health if self._health is not None else DraHealth()
        return health.of(driver, device.pool, device.device, self._clock())


def _pod(uid: str, data: bytes) -> Pod:
    """Raises ObjectError, ResourceClaimError."""
    pod = decode_pod(data)
    if pod.metadata.uid != uid:
        raise ResourceClaimError(f"not the pod {uid}: {pod.metadata.uid}")
    return pod
