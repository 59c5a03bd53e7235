"""Stages, publishes, unpublishes and unstages the volumes of drivers.

Each request to a driver is written to disk before it is sent, so that no restart loses a volume: see records.py.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from actors.api_clients.messages import HEARTBEAT_CLIENT, VolumesInUse
from actors.shared.kube.pod import Pod
from supervision.actor import Actor

from ..files.projections import ContentError
from ..files.service_tokens import ServiceTokens
from ..locks import PodLocks
from . import records
from .api_objects import ApiObjects, DriverSpec
from .drivers import Drivers
from .errors import CsiError
from .model import EPHEMERAL, PERSISTENT, CsiMount, Driver, Published, attachment_name
from .pod_info import TOKENS, given_group, pod_attributes, tokens_text, tokens_wanted
from .records import Records

if TYPE_CHECKING:
    from .connection import Connection

REPUBLISH_SECONDS: Final = 60.0
_STAGED: Final = "globalmount"
_MOUNT: Final = "mount"
ApplyGroup = Callable[[Pod, str, int, bool], Awaitable[str]]
"""See FsGroup.apply."""


@dataclass(frozen=True)
class CsiContext:
    """What CsiVolumes works with."""

    actor: Actor
    drivers: Drivers
    api: ApiObjects
    records: Records
    tokens: ServiceTokens
    apply_group: ApplyGroup
    node_name: str
    pods: PodLocks
    """Locks of the volume manager: held while a pod's volumes are mounted or unmounted."""


class _GoneError(Exception):
    """A volume that is to be published again was unmounted meanwhile."""


class CsiVolumes:
    """On a joined node."""

    def __init__(self, context: CsiContext) -> None:
        self._actor, self._drivers, self._api = context.actor, context.drivers, context.api
        self._records = context.records
        self._tokens, self._apply_group, self._node_name = context.tokens, context.apply_group, context.node_name
        self._pods = context.pods
        self._locks = PodLocks()
        self._again: dict[str, tuple[Pod, CsiMount]] = {}
        """Volumes of drivers with requiresRepublish, by path."""

    def start(self) -> None:
        self._actor.every(REPUBLISH_SECONDS, self._republish, jitter=0.1)
        self.tell_in_use()

    def tell_in_use(self) -> None:
        """Tell which volumes the attach controller must leave attached."""
        self._actor.tell(HEARTBEAT_CLIENT, VolumesInUse(self._records.in_use()), deadline=30.0)

    # -- mounting -----------------------------------------------------------------------------------------------------
    async def mount(self, pod: Pod, step: CsiMount) -> str:
        """'' or the error's text."""
        known = records.read(os.path.dirname(step.path))
        there = known is not None and known.ready and records.mounted(step.path)
        try:
            driver, connection = self._drivers.get(step.source.driver)
            if not there:
                await self._mount(pod, step, driver, connection)
            elif (await self._api.driver(driver.name)).requiresRepublish:
                self._again[step.path] = (pod, step)
        except (CsiError, OSError) as error:
            if there:
                self._actor.log.warning("volume at %s stays as it is: %s", step.path, error)
                return ""
            return f"kubernetes.io/csi: {error}"
        return ""

    async def _mount(
        self,
        pod: Pod,
        step: CsiMount,
        driver: Driver,
        connection: Connection,
        wanted: Callable[[], None] = lambda: None,
    ) -> None:
        """`wanted` is called after each wait: it raises when the volume is no longer wanted."""
        spec = await self._api.driver(driver.name)
        kind = EPHEMERAL if step.source.ephemeral else PERSISTENT
        if kind not in spec.volumeLifecycleModes:
            modes = ", ".join(spec.volumeLifecycleModes)
            raise CsiError(f"volume mode {kind!r} not supported by driver {driver.name} (only supports [{modes}])")
        record = self._record(step, kind, attached=spec.attachRequired and kind == PERSISTENT)
        secrets = await self._api.secret(step.source.publish_secret)
        extra = await self._extra(pod, step, spec)
        if spec.serviceAccountTokenInSecrets and TOKENS in extra:
            secrets[TOKENS] = extra.pop(TOKENS)
        async with self._locks.hold(self._records.stage_dir(record)):
            wanted()
            if known := records.read(os.path.dirname(step.path)):
                record = msgspec.structs.replace(record, ready=known.ready)
            records.write(os.path.dirname(step.path), record)
            self.tell_in_use()
            context = await self._attached(step, record)
            wanted()
            staged = await self._stage(step, driver, connection, record, context, wanted)
            wanted()
            await connection.publish(driver, step, staged, context, secrets, extra)
        wanted()
        group = given_group(driver, spec, step)
        if group is not None and (complaint := await self._apply_group(pod, step.path, group, step.on_root_mismatch)):
            raise CsiError(f"applyFSGroup failed for vol {step.source.handle}: {complaint}")
        wanted()
        records.write(os.path.dirname(step.path), msgspec.structs.replace(record, ready=True))
        if spec.requiresRepublish:
            self._again[step.path] = (pod, step)

    def _record(self, step: CsiMount, kind: str, *, attached: bool) -> Published:
        source = step.source
        return Published(
            driverName=source.driver,
            volumeHandle=source.handle,
            specVolID=source.name,
            nodeName=self._node_name,
            attachmentID=attachment_name(source.handle, source.driver, self._node_name) if attached else "",
            volumeLifecycleMode=kind,
            volume=step.volume,
            claim=step.claim,
        )

    async def _attached(self, step: CsiMount, record: Published) -> dict[str, str]:
        if not record.attachmentID:
            return {}
        return await self._api.attached(record.attachmentID, f"volume {step.source.handle}")

    async def _stage(
        self, step: CsiMount, driver: Driver, connection: Connection, record: Published, context: dict[str, str],
        wanted: Callable[[], None],
    ) -> str:  # fmt: skip
        """Stage the volume; its staging path, '' when it needs none."""
        if not driver.stages or step.source.ephemeral:
            return ""
        folder = self._records.stage_dir(record)
        records.write(folder, msgspec.structs.replace(record, specVolID="", volume="", claim="", ready=False))
        os.makedirs(f"{folder}/{_STAGED}", 0o750, exist_ok=True)
        secrets = await self._api.secret(step.source.stage_secret)
        wanted()
        await connection.stage(driver, step, f"{folder}/{_STAGED}", context, secrets)
        return f"{folder}/{_STAGED}"

    async def _extra(self, pod: Pod, step: CsiMount, spec: DriverSpec) -> dict[str, str]:
        """Attributes of the pod that the driver asks for."""
        found = pod_attributes(pod, ephemeral=step.source.ephemeral) if spec.podInfoOnMount else {}
        wanted = tokens_wanted(pod, spec)
        if not wanted:
            return found
        try:
            got = await asyncio.gather(*(self._tokens.get_until(one) for one in wanted))
        except ContentError as error:
            raise CsiError(str(error)) from None
        return {**found, TOKENS: tokens_text(wanted, got)}

    async def _republish(self) -> None:
        """All pods at the same time: one whose lock is held for long keeps no other waiting."""
        again = [(pod.metadata.uid, path) for path, (pod, _) in self._again.items()]
        await asyncio.gather(*(self._republish_one(uid, path) for uid, path in again))

    async def _republish_one(self, uid: str, path: str) -> None:
        async with self._pods.hold(uid):
            complaint = await self._publish_again(path)
        if complaint:
            self._actor.log.warning("volume at %s is not published again: %s", path, complaint)

    async def _publish_again(self, path: str) -> str:
        """'' or the error's text; '' also when the volume was unmounted meanwhile."""

        def wanted() -> None:
            if path not in self._again:
                raise _GoneError

        try:
            wanted()
            pod, step = self._again[path]
            driver, connection = self._drivers.get(step.source.driver)
            await self._mount(pod, step, driver, connection, wanted)
        except _GoneError:
            return ""
        except (CsiError, OSError) as error:
            return str(error)
        return ""

    # -- unmounting ---------------------------------------------------------------------------------------------------
    async def unmount(self, pod_dir: str) -> str:
        """Unmount every volume of a driver that the pod has. '' or the errors of those that are left."""
        errors = []
        for folder, record in records.of_pod(pod_dir):
            self._again.pop(f"{folder}/{_MOUNT}", None)
            if record is None:
                continue  # nothing was asked of a driver
            try:
                await self._unmount_one(folder, record)
            except (CsiError, OSError) as error:
                errors.append(f"{os.path.basename(folder)}: kubernetes.io/csi: {error}")
        self.tell_in_use()
        return "; ".join(errors)

    async def _unmount_one(self, folder: str, record: Published) -> None:
        _, connection = self._drivers.get(record.driverName)
        await connection.unpublish(record.volumeHandle, f"{folder}/{_MOUNT}")
        if records.mounted(f"{folder}/{_MOUNT}"):
            raise CsiError(f"{folder}/{_MOUNT} is mounted still after NodeUnpublishVolume")
        async with self._locks.hold(self._records.stage_dir(record)):
            records.remove(folder, _MOUNT)
            await self._unstage(record)

    async def _unstage(self, record: Published) -> None:
        """If no pod uses it any more."""
        folder = self._records.stage_dir(record)
        if records.read(folder) is None or self._records.used(record):
            return
        driver, connection = self._drivers.get(record.driverName)
        if driver.stages:
            await connection.unstage(record.volumeHandle, f"{folder}/{_STAGED}")
        if records.mounted(f"{folder}/{_STAGED}"):
            raise CsiError(f"{folder}/{_STAGED} is mounted still after NodeUnstageVolume")
        records.remove(folder, _STAGED)

    async def sweep(self) -> None:
        """Unstage volumes that no pod uses: the agent ended before it could, or the driver failed."""
        for record in self._records.staged():
            if self._records.used(record) or record.driverName not in self._drivers.names:
                continue
            try:
                async with self._locks.hold(self._records.stage_dir(record)):
                    await self._unstage(record)
            except (CsiError, OSError) as error:
                self._actor.log.warning("volume %s stays staged: %s", record.volumeHandle, error)
        self.tell_in_use()
