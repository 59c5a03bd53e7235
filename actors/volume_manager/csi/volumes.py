"""Publishes and unpublishes the volumes of CSI drivers; staging.py stages them before, and unstages them after.

The record of a volume is written to disk before its driver is called, so that no restart loses a volume:
see records.py.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.pod import Pod
from actors.shared.linux.directories import make_path
from supervision.actor import Actor
from supervision.errors import error_text

from ..failure_texts import MountError
from ..files.content_error import ContentError
from ..files.service_tokens import ServiceTokens
from ..host.directories import DIRECTORY_MODE
from . import progress, records
from .allocatable import AllocatableCounts
from .api_objects import ApiObjects, DriverSpec
from .drivers import CsiDrivers
from .errors import CallError, CsiError, ExhaustedError, NotAttachedError, PlainError, is_final, mount_error
from .model import EPHEMERAL, PERSISTENT, CsiMount, Driver, VolumeRecord, attachment_name, unique_name
from .pod_info import TOKENS, fs_group_to_apply, pod_attributes, token_requests, tokens_json
from .records import PublishedVolume, Records
from .republishing import Republishing
from .staging import Staging
from .volume_expansion import VolumeExpansion
from .volume_stats import DriverMeasurements

if TYPE_CHECKING:
    from .connection import CsiConnection

ApplyGroup = Callable[[Pod, str, int, bool], Awaitable[str]]
"""See FsGroup.apply."""


@dataclass(frozen=True)
class CsiContext:
    """The dependencies of CsiVolumes."""

    actor: Actor
    drivers: CsiDrivers
    api: ApiObjects
    records: Records
    tokens: ServiceTokens
    apply_group: ApplyGroup
    node_name: str
    pods: KeyedLocks
    """Locks of the volume manager: held while a pod's volumes are mounted or unmounted."""
    measurements: DriverMeasurements
    tell_in_use: Callable[[], None]
    """Reports the volumes that the attach controller must not detach."""
    sync_seconds: float
    """The period, in seconds, of republishing and expanding volumes in use that need it. The kubelet does this when it
    syncs their pods."""


class CsiVolumes:
    """The CSI volumes of the pods of a joined node."""

    def __init__(self, context: CsiContext) -> None:
        self._actor, self._drivers, self._api = context.actor, context.drivers, context.api
        self._records, self._measurements = context.records, context.measurements
        self._tokens, self._apply_group, self._node_name = context.tokens, context.apply_group, context.node_name
        self._locks, self._tell_in_use = KeyedLocks(), context.tell_in_use
        self._staging = Staging(
            context.actor, context.drivers, context.api, context.records, self._locks, context.tell_in_use
        )
        self._counts = AllocatableCounts(context.actor, context.drivers, context.api)
        self._expansion = VolumeExpansion(
            actor=context.actor,
            drivers=context.drivers,
            api=context.api,
            locks=self._locks,
            node_name=context.node_name,
            stage_path=self._records.stage_path,
            seconds=context.sync_seconds,
        )
        self._republishing = Republishing(
            context.actor, context.drivers, context.pods, context.sync_seconds, self._publish_again, self.mount
        )

    def start(self) -> None:
        self._republishing.start()
        self._expansion.start()
        self._tell_in_use()
        self._actor.start_task(self._staging.sweep(), "volumes that an earlier incarnation left staged")

    # -- mounting -----------------------------------------------------------------------------------------------------
    async def mount(self, pod: Pod, step: CsiMount) -> MountError | None:
        """Mount the volume. Returns None or the error."""
        is_published = False
        try:
            is_published = progress.is_published(step)
            driver, connection = self._drivers.get(step.source.driver)
            if not is_published:
                await self._mount(pod, step, driver, connection)
            self._expansion.in_use(pod, step, driver)
            self._measurements.in_use(pod, step)
            if is_published and (await self._api.driver(driver.name)).requiresRepublish:
                self._republishing.repeat(pod, step)
            self._republishing.driver_is_known(step.path)
        except (CsiError, OSError) as error:
            if is_published:
                self._republishing.await_driver(pod, step)
                self._actor.log.warning("volume at %s does not change: %s", step.path, error)
                return None
            return mount_error(error, step)
        return None

    async def _mount(
        self,
        pod: Pod,
        step: CsiMount,
        driver: Driver,
        connection: CsiConnection,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`check` is called after each wait; it raises when the volume was unmounted meanwhile."""
        spec = await self._api.driver(driver.name)
        kind = EPHEMERAL if step.source.ephemeral else PERSISTENT
        _check_lifecycle_mode(kind, driver, spec)
        record = self._record(step, kind, attached=spec.attachRequired and kind == PERSISTENT)
        async with self._lock(record):
            check()
            progress.note(step, record)
            self._tell_in_use()
            context = await self._publish_context(step, record, spec)
            check()
            staged = await self._staging.stage(step, driver, connection, record, context, check)
            secrets = await self._api.secret(step.source.publish_secret, "NodePublishSecretRef")
            attributes = await self._requested_attributes(pod, step, spec)
            if spec.serviceAccountTokenInSecrets and TOKENS in attributes:
                secrets[TOKENS] = attributes.pop(TOKENS)
            check()
            make_path(os.path.dirname(step.path), DIRECTORY_MODE)
            progress.note_call(step, record)
            try:
                await connection.publish(driver, step, staged, context, secrets, attributes)
            except CallError as failure:
                if is_final(failure):
                    progress.note_failure(step, record)
                raise
            await self._expansion.mounting(pod, step, driver, connection)
        check()
        group = fs_group_to_apply(driver, spec, step)
        if group is not None and (error := await self._apply_group(pod, step.path, group, step.on_root_mismatch)):
            raise PlainError(f"applyFSGroup failed for vol {step.source.handle}: {error}")
        check()
        progress.note_published(step, record)
        if spec.requiresRepublish:
            self._republishing.repeat(pod, step)

    def _record(self, step: CsiMount, kind: str, *, attached: bool) -> VolumeRecord:
        source = step.source
        return VolumeRecord(
            driverName=source.driver,
            volumeHandle=source.handle,
            specVolID=source.name,
            nodeName=self._node_name,
            attachmentID=attachment_name(source.handle, source.driver, self._node_name) if attached else "",
            volumeLifecycleMode=kind,
            volume=step.volume if step.device is None else "",
            claim=step.claim if step.device is None else "",
        )

    def _lock(self, record: VolumeRecord) -> AbstractAsyncContextManager[None]:
        """The lock of the volume, which is staged once for all pods."""
        return self._locks.hold(unique_name(record.driverName, record.volumeHandle))

    async def _publish_context(self, step: CsiMount, record: VolumeRecord, spec: DriverSpec) -> dict[str, str]:
        """The publish context of its VolumeAttachment; {} when the driver needs no attach. Raises CsiError."""
        if not record.attachmentID:
            return {}
        try:
            context = await self._api.attached(record.attachmentID, f"volume {step.source.handle}")
        except ExhaustedError as error:
            if not spec.nodeAllocatableUpdatePeriodSeconds:  # the driver does not use the feature: the volume waits
                raise NotAttachedError(str(error)) from None
            self._counts.ask(record.driverName)
            raise
        if not progress.is_published(step):
            await self._api.check_in_use(self._node_name, unique_name(record.driverName, record.volumeHandle))
        return context

    async def _requested_attributes(self, pod: Pod, step: CsiMount, spec: DriverSpec) -> dict[str, str]:
        """The volume attributes that the CSIDriver requests: of the pod, and tokens of its service account."""
        found = pod_attributes(pod, ephemeral=step.source.ephemeral) if spec.podInfoOnMount else {}
        requests = token_requests(pod, spec)
        if not requests:
            return found
        try:
            tokens = await asyncio.gather(*(self._tokens.get_until(request) for request in requests))
        except ContentError as error:
            raise CsiError(f"mounter.SetUpAt failed to get service account token attributes: {error}") from None
        return {**found, TOKENS: tokens_json(requests, tokens)}

    async def _publish_again(self, pod: Pod, step: CsiMount, check: Callable[[], None]) -> None:
        driver, connection = self._drivers.get(step.source.driver)
        await self._mount(pod, step, driver, connection, check)

    # -- unmounting ---------------------------------------------------------------------------------------------------
    async def unmount(self, pod_dir: str) -> str:
        """Unmount every CSI volume of the pod. '' or the errors of the volumes that stay. The pod does not wait for
        the end of NodeUnstageVolume. Raises OSError when the records cannot be read."""
        volumes = self._records.of_pod(pod_dir)
        errors = await asyncio.gather(*(self._unmount_one(volume) for volume in volumes))
        self._tell_in_use()
        return "; ".join(error for error in errors if error)

    async def _unmount_one(self, volume: PublishedVolume) -> str:
        self._republishing.unused(volume.target)
        self._measurements.unused(volume.target)
        record = volume.record
        if record is None:
            return ""  # no driver was called
        self._expansion.unused(volume.target, unique_name(record.driverName, record.volumeHandle))
        try:
            if record.state != "none":
                _, connection = self._drivers.get(record.driverName)
                await connection.unpublish(record.volumeHandle, volume.target)
            if records.mounted(volume.target):
                raise CsiError(f"{volume.target} is still mounted after NodeUnpublishVolume")
            async with self._lock(record):
                records.remove_published(volume)
        except (CsiError, OSError) as error:
            return f"{record.specVolID}: kubernetes.io/csi: {error_text(error)}"
        staged = self._records.stage_of(record, volume.device)
        self._actor.start_task(self._staging.unstage_unused(staged), f"unstage {record.volumeHandle}")
        return ""

    async def sweep(self) -> None:
        """Unstage volumes that no pod uses, and ask drivers how many volumes the node can have."""
        self._tell_in_use()
        await self._counts.look()
        await self._staging.sweep()


def _check_lifecycle_mode(kind: str, driver: Driver, spec: DriverSpec) -> None:
    """Raises CsiError if the driver's CSIDriver object does not allow volumes of this kind."""
    if kind in spec.volumeLifecycleModes:
        return
    modes = " ".join(f'"{mode}"' for mode in spec.volumeLifecycleModes)
    why = f"only supports [{modes}]" if spec.exists else "no CSIDriver object"
    text = f'volume mode "{kind}" not supported by driver {driver.name} ({why})'
    raise CsiError(f"mounter.SetupAt failed to check volume lifecycle mode: {text}")
