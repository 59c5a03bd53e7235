"""Stages volumes on the node, once for all pods that use them, and unstages those that no pod uses.

The caller holds the lock of the volume while it is staged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from actors.shared.keyed_locks import KeyedLocks
from actors.shared.linux.directories import make_path
from supervision.actor import Actor

from ..host.directories import DIRECTORY_MODE
from . import progress, record_file, records
from .api_objects import ApiObjects
from .drivers import CsiDrivers
from .errors import CallError, CsiError, StageError, is_final
from .model import CsiMount, Driver, VolumeRecord, unique_name
from .records import Records, StagedVolume

if TYPE_CHECKING:
    from .connection import CsiConnection


class Staging:
    """The staged volumes. `locks`: by unique name of a volume; `changed` is called when a volume may not be in use any
    more."""

    def __init__(
        self,
        actor: Actor,
        drivers: CsiDrivers,
        api: ApiObjects,
        kept: Records,
        locks: KeyedLocks,
        changed: Callable[[], None],
    ) -> None:
        self._actor, self._drivers, self._api = actor, drivers, api
        self._records, self._locks, self._changed = kept, locks, changed
        self._staged: set[str] = set()
        """Staging paths of the volumes that were staged since the start of this actor."""

    async def stage(
        self, step: CsiMount, driver: Driver, connection: CsiConnection, record: VolumeRecord, context: dict[str, str],
        check: Callable[[], None],
    ) -> str:  # fmt: skip
        """Stage the volume, unless another pod or an earlier try has staged it. Returns the staging path for
        NodePublishVolume, '' for none. Raises StageError.

        `context`: the publish context; `check` raises when the volume was unmounted meanwhile.
        """
        if not driver.stages or step.source.ephemeral:
            return "" if step.device is None else step.device.staging  # the kubelet names it in any case
        try:
            return await self._stage(step, driver, connection, record, context, check)
        except (CsiError, OSError) as error:
            raise StageError(error) from None

    async def _stage(
        self, step: CsiMount, driver: Driver, connection: CsiConnection, record: VolumeRecord, context: dict[str, str],
        check: Callable[[], None],
    ) -> str:  # fmt: skip
        """Returns the staging path. Raises CsiError, OSError."""
        staged = self._records.stage_of(record, step.device)
        if staged.target in self._staged:
            return staged.target
        if step.device is None:  # the record of a device is for its stage, too
            record = msgspec.structs.replace(record, specVolID="", volume="", claim="")
        secrets = await self._api.secret(step.source.stage_secret, "NodeStageSecretRef")
        check()
        progress.note_stage_call(staged, record)
        make_path(staged.target, DIRECTORY_MODE)
        try:
            await connection.stage(driver, step, staged.target, context, secrets)
        except CallError as error:
            if is_final(error):
                progress.note_stage_failure(staged, step.device)
            raise
        progress.note_staged(staged, record)
        self._staged.add(staged.target)
        return staged.target

    async def unstage_unused(self, volume: StagedVolume) -> None:
        """Unstage the volume if no pod uses it. The next sweep retries what fails."""
        record = volume.record
        try:
            async with self._locks.hold(unique_name(record.driverName, record.volumeHandle)):
                await self._unstage(volume)
        except (CsiError, OSError) as error:
            self._actor.log.warning("volume %s stays staged: %s", record.volumeHandle, error)
        self._changed()

    async def _unstage(self, volume: StagedVolume) -> None:
        """Raises CsiError, OSError."""
        known = record_file.read(volume.folder)
        if known is None or self._records.used(volume.record):
            return
        self._staged.discard(volume.target)  # even if the driver fails: what it has undone is not known then
        if known.state != "none":
            driver, connection = self._drivers.get(volume.record.driverName)
            if driver.stages:
                await connection.unstage(volume.record.volumeHandle, volume.target)
        if records.mounted(volume.target):
            raise CsiError(f"{volume.target} is still mounted after NodeUnstageVolume")
        records.remove_staged(volume)

    async def sweep(self) -> None:
        """Unstage volumes that no pod uses: an earlier incarnation ended before it could, or the driver failed."""
        for volume in self._records.staged():
            record = volume.record
            if self._records.used(record):
                continue
            if record.driverName not in self._drivers.names and record.state != "none":
                continue
            await self.unstage_unused(volume)
