"""Expands volumes on this node whose PersistentVolumes have grown: as they are mounted, and while they are used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent, pod_event
from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError, quantity_value
from actors.shared.kube.times import rfc3339
from supervision.actor import Actor
from supervision.backoff import RetrySchedule

from .api_objects import ApiObjects
from .drivers import CsiDrivers
from .errors import CallError, CsiError, NodeExpandError, VolumeExpansionError, code_of
from .expansion_plan import (
    IN_USE,
    INFEASIBLE_CODES,
    STORAGE,
    Expansion,
    expansion,
    failed,
    finished,
    in_progress,
    may_need,
    size_of_claim,
)
from .model import CsiMount, Driver, unique_name

if TYPE_CHECKING:
    from .connection import CsiConnection

RETRIES: Final = RetrySchedule(first=0.5, limit=122.0)
"""The pauses after a driver failed to expand a volume in use (the kubelet's exponentialbackoff)."""


class VolumeExpansion:
    """Expands volumes with a claim whose drivers have the capability EXPAND_VOLUME. It keeps nothing on disk: a later
    incarnation continues from the capacity in the claim's status.
    """

    def __init__(
        self,
        actor: Actor,
        drivers: CsiDrivers,
        api: ApiObjects,
        locks: KeyedLocks,
        node_name: str,
        stage_path: Callable[[CsiMount], str],
        seconds: float,
    ) -> None:
        """`locks`: by unique name of volumes; `stage_path`: where a volume is staged;
        `seconds`: the period of checks of the claims of volumes in use."""
        self._actor, self._drivers, self._api, self._locks = actor, drivers, api, locks
        self._node_name, self._stage_path, self._seconds = node_name, stage_path, seconds
        self._used: dict[str, tuple[Pod, CsiMount]] = {}
        """The volumes in use, by path."""
        self._sizes: dict[str, int] = {}
        """Bytes, by unique name."""
        self._failed: set[str] = set()
        """Unique names of volumes with a final error."""
        self._refused: set[str] = set()
        """Unique names of volumes that the driver does not expand while in use."""
        self._retried: set[str] = set()
        """Unique names of volumes in use that are tried again after a failure of the driver."""

    def start(self) -> None:
        self._actor.every(self._seconds, self._expand_used, jitter=0.1)

    def in_use(self, pod: Pod, step: CsiMount, driver: Driver) -> None:
        """The volume is published to the pod."""
        if _may_grow(step, driver):
            self._used[step.path] = (pod, step)

    def unused(self, path: str, name: str) -> None:
        """`name`: the unique name of the volume at `path`."""
        self._used.pop(path, None)
        if name not in {_name(step) for _, step in self._used.values()}:
            self._sizes.pop(name, None)
            self._failed.discard(name)
            self._refused.discard(name)

    async def mounting(self, pod: Pod, step: CsiMount, driver: Driver, connection: CsiConnection) -> None:
        """Expand a volume that has just been published, if its PersistentVolume has grown.

        Raises VolumeExpansionError.
        """
        if not _may_grow(step, driver):
            if driver.expands and step.claim:
                await self._tell_read_only(pod, step)
            return
        try:
            await self._expand(pod, step, driver, connection)
        except QuantityError as error:
            raise VolumeExpansionError(CsiError(str(error))) from None
        except CsiError as error:
            raise VolumeExpansionError(error) from None

    async def _tell_read_only(self, pod: Pod, step: CsiMount) -> None:
        """Emit an event when a volume that has grown is mounted read-only: it keeps its size on this node."""
        try:
            claim = await self._api.claim(pod.metadata.namespace, step.claim)
            size = size_of_claim(claim)
            if not may_need(claim, size):
                return
            volume: PersistentVolume = await self._api.persistent_volume(step.source.name)
            grown = quantity_value(volume.spec.capacity.get(STORAGE, 0)) > size
        except (CsiError, QuantityError) as error:
            self._actor.log.info("not known whether volume %s has grown: %s", step.source.name, error)
            return
        if grown:
            name = step.source.name
            text = f'MountVolume.NodeExpandVolume failed for volume "{name}" requested read-only file system'
            self._tell(pod, claim, "Warning", "FileSystemResizeFailed", text)

    async def _expand_used(self) -> None:
        """Expand each volume for one of its pods, because they share its file system. All run concurrently, because a
        driver may hang.
        """
        once = {_name(step): (pod, step) for pod, step in self._used.values()}
        waiting = (one for name, one in once.items() if name not in self._retried)
        await asyncio.gather(*(self._expand_one(pod, step) for pod, step in waiting))

    async def _expand_one(self, pod: Pod, step: CsiMount) -> None:
        """Expand the volume; if its driver fails, try again in the background."""
        if await self._try_expansion(pod, step):
            self._retried.add(_name(step))
            self._actor.start_task(self._expand_again(pod, step), f"expand {step.source.handle} again")

    async def _expand_again(self, pod: Pod, step: CsiMount) -> None:
        """Try again until the driver does not fail or the volume is not in use."""
        failures = 1
        try:
            while step.path in self._used:
                await self._actor.pause(RETRIES.pause(failures))
                if not await self._try_expansion(pod, step):
                    return
                failures += 1
        finally:
            self._retried.discard(_name(step))

    async def _try_expansion(self, pod: Pod, step: CsiMount) -> bool:
        """Returns whether the driver failed, so that it must be asked again."""
        try:
            driver, connection = self._drivers.get(step.source.driver)
            async with self._locks.hold(_name(step)):
                if step.path in self._used:
                    await self._expand(pod, step, driver, connection)
            return False
        except (CsiError, QuantityError) as error:
            text = f'NodeExpandVolume.NodeExpandVolume failed for volume "{step.source.name}" : {error}'
            self._actor.log.warning("%s", text)
            if isinstance(error, CsiError) and code_of(error):
                event = pod_event(pod.metadata, "Warning", "VolumeResizeFailed", text)
                self._actor.tell(EVENT_CLIENT, event, deadline=60.0)
                return True
            return False

    async def _expand(self, pod: Pod, step: CsiMount, driver: Driver, connection: CsiConnection) -> None:
        """Raises CsiError, QuantityError."""
        name = _name(step)
        claim = await self._api.claim(pod.metadata.namespace, step.claim)
        size_here = self._sizes.setdefault(name, size_of_claim(claim))
        if name in self._refused or not may_need(claim, size_here):
            return
        volume: PersistentVolume = await self._api.persistent_volume(step.source.name)
        wanted = expansion(claim, volume, size_here)
        if wanted is None:
            if not claim.status.allocatedResourceStatuses.get(STORAGE):
                self._sizes[name] = max(size_here, size_of_claim(claim))  # the controller has expanded it alone
            return
        if wanted.marks:
            claim = await self._api.patch_claim_status(claim, in_progress())
        secrets = await self._api.secret(step.source.expand_secret, "NodeExpandSecretRef")
        try:
            staged = self._stage_path(step) if driver.stages else ""
            await connection.expand(driver, step, staged, quantity_value(wanted.size), secrets)
        except CallError as answer:
            error = NodeExpandError(answer, infeasible=answer.code in INFEASIBLE_CODES)
            await self._note_failure(name, claim, wanted, error)
            if error.code != IN_USE:
                raise error from None
            self._refused.add(name)  # the pod runs; the next mount tries again
            self._actor.log.warning("volume %s is not expanded while it is used: %s", name, error)
            return
        self._sizes[name] = quantity_value(wanted.size)
        self._failed.discard(name)
        if wanted.updates_claim:
            await self._api.patch_claim_status(claim, finished(claim, wanted.size))
        text = f'MountVolume.NodeExpandVolume succeeded for volume "{step.source.name}" {self._node_name}'
        self._tell(pod, claim, "Normal", "FileSystemResizeSuccessful", text)

    async def _note_failure(self, name: str, claim: PersistentVolumeClaim, wanted: Expansion, error: CsiError) -> None:
        now = rfc3339(time.time())
        patch = failed(claim, wanted, code_of(error), str(error), now, again=name in self._failed)
        if patch is None:
            return
        self._failed.add(name)
        if not wanted.updates_claim:
            return
        try:
            await self._api.patch_claim_status(claim, patch)
        except CsiError as problem:
            self._actor.log.warning("cannot note on the claim of volume %s that it failed: %s", name, problem)

    def _tell(
        self, pod: Pod, claim: PersistentVolumeClaim, kind: Literal["Normal", "Warning"], reason: str, text: str
    ) -> None:
        """An event of the pod, and one of the claim."""
        meta = claim.metadata
        of_claim = RecordEvent(
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            type=kind,
            reason=reason,
            message=text,
        )
        for event in (pod_event(pod.metadata, kind, reason, text), of_claim):
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)


def _may_grow(step: CsiMount, driver: Driver) -> bool:
    return driver.expands and bool(step.claim) and not step.read_only


def _name(step: CsiMount) -> str:
    return unique_name(step.source.driver, step.source.handle)
