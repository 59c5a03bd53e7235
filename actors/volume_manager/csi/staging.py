"""Stages volumes on the node, once for all pods that use them, and unstages those that no pod uses.

The caller holds the lock of the volume while it is staged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from actors.shared.keyed_locks import KeyedLocks
from actors.shared.linux.directories import make_path
from supervision.actor import Actor
from supervision.backoff import RetrySchedule
from supervision.errors import error_text
from supervision.repeated_warnings import RepeatedWarnings

from ..host.directories import DIRECTORY_MODE
from . import progress, record_file, records
from .api_objects import ApiObjects
from .drivers import CsiDrivers
from .errors import CallError, CsiError, StageError, is_final
from .model import CsiMount, Driver, VolumeRecord, unique_name
from .records import Records, StagedVolume

if TYPE_CHECKING:
    from .connection import CsiConnection

RETRIES: Final = RetrySchedule(0.5, 122.0)
"""Between tries to unstage a volume, as the kubelet's: another node may wait for it."""


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
        self._failures: dict[str, int] = {}
        """How often unstaging has failed in a row, by staging path."""
        self._warnings = RepeatedWarnings(actor.log)

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
        if not records.mounted(staged.target):  # a dead file system is no directory: its driver mends it
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
        """Unstage the volume if no pod uses it. What fails is retried."""
        record, path = volume.record, volume.target
        try:
            async with self._locks.hold(unique_name(record.driverName, record.volumeHandle)):
                await self._unstage(volume)
        except (CsiError, OSError) as error:
            self._warnings.warn(path, f"volume {record.volumeHandle} stays staged: {error_text(error)}")
            failures = self._failures[path] = self._failures.get(path, 0) + 1
            self._actor.after(RETRIES.pause(failures), partial(self._retry, volume, failures))
        else:
            self._failures.pop(path, None)
            self._warnings.resolved(path)
        self._changed()

    async def _retry(self, volume: StagedVolume, failures: int) -> None:
        """Unless another try was faster."""
        if self._failures.get(volume.target) == failures:
            await self.unstage_unused(volume)

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
        try:
            unused = [volume for volume in self._records.staged() if not self._records.used(volume.record)]
        except OSError as error:
            self._warnings.warn("", f"volumes that no pod uses are looked for later: {error_text(error)}")
            return
        self._warnings.resolved("")
        await asyncio.gather(*(self.unstage_unused(volume) for volume in unused))
