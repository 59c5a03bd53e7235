"""Image garbage collection: removes unused images when their disk fills up. garbage_collection.py decides."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, cast

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, NotFound
from actors.shared.cri.model import CriContainer, Image
from actors.shared.tracing.tracer import Tracer
from supervision.actor import Actor, DisposableError
from supervision.repeated_warnings import RepeatedWarnings

from .garbage_collection import Disk, ImageRecord, Thresholds, observe, plan, shortfall, unused
from .pull_record_store import PullRecords
from .pull_records import ImagePulledRecord

COLLECT_SECONDS: Final = 300.0
OBSERVE_RETRY_SECONDS: Final = 5.0
FAILURES_LOGGED: Final = 3
_AT_ONCE: Final = 16
"""The number of containers whose status is requested at the same time."""
_STATFS: Final = "actors.image_manager.image_collector:disk_of"


@dataclass(frozen=True)
class CollectionRules:
    """Which images may be removed. The functions raise OSError: nothing is removed then."""

    thresholds: Thresholds
    running: Callable[[], set[str]] = set
    """The IDs of the containers and sandboxes that have a process."""
    kept: Callable[[], Collection[str]] = tuple
    """The IDs of images that are never removed."""


class ImageCollector:
    """Keeps the records of use for the collection."""

    def __init__(
        self,
        actor: Actor,
        client: CriClient,
        tracer: Tracer,
        rules: CollectionRules,
        records: PullRecords | None,
        node_name: str,
    ) -> None:
        """`records`: None if there are none. `node_name` is empty for a standalone agent."""
        self._actor, self._client, self._tracer = actor, client, tracer
        self._thresholds, self._running, self._kept = rules.thresholds, rules.running, rules.kept
        self._clock, self._started_at = time.monotonic, time.monotonic()
        self._pulls, self._node_name = records, node_name
        self._records: dict[str, ImageRecord] = {}
        self._failures = 0
        self._warnings = RepeatedWarnings(actor.log)

    def start(self) -> None:
        """Record the images and their use at once, then every 5 minutes, and collect then, unless that is off.

        The records are kept in any case: `remove_unused` needs the ages of the images.
        """
        self._actor.start_task(self._observe_first(), "images in use")
        collects = self._thresholds.high_percent < 100 or self._thresholds.maximum_age > 0
        self._actor.every(COLLECT_SECONDS, self.collect if collects else self._observe)

    async def _observe_first(self) -> None:
        """Retry until the runtime answers: it may start after the agent."""
        while not await self._observe():
            await self._actor.pause(OBSERVE_RETRY_SECONDS)

    async def _observe(self) -> bool:
        """Whether the runtime has answered."""
        try:
            await self._list_images()
        except (CriError, OSError) as error:
            self._warnings.warn("in use", f"images in use are not known: {error}")
            return False
        self._warnings.resolved("in use")
        return True

    async def collect(self) -> None:
        """Run one collection. As in the kubelet, a failure is logged as an error from the second consecutive one on."""
        with self._tracer.span("Images/GarbageCollect") as span:
            try:
                failure = await self._collect()
            except (CriError, DisposableError, OSError) as error:
                failure = str(error)
            if failure:
                span.fail(failure)
        self._failures = self._failures + 1 if failure else 0
        if failure:
            level = logging.ERROR if self._failures > 1 else logging.WARNING
            self._actor.log.log(level, "image collection failed: %s", failure)
        if self._failures > 1:
            self._record("ImageGCFailed", failure)

    async def _collect(self) -> str:
        """Collect. Returns what could not be removed or freed and why, '' on success. Raises CriError,
        DisposableError, OSError."""
        recorded = self._pulls.recorded() if self._pulls is not None else {}
        images, in_use, now, unlisted = await self._list_images()
        left, failures = dict(self._records), []
        while True:
            disk = await self._disk()
            collection = plan(left.values(), in_use, disk, self._thresholds, now, now - self._started_at)
            if collection.remove and unlisted:
                return unlisted
            reasons = ["age"] * collection.aged + ["space"] * (len(collection.remove) - collection.aged)
            removals = zip(collection.remove, reasons, strict=True)
            failed = [text for image_id, reason in removals if (text := await self._remove(image_id, reason))]
            for image_id in collection.remove:
                del left[image_id]
            failures += failed
            if not failed:  # otherwise other images would be removed in their place
                break
        await self._forget_pulls(recorded, images)
        short = shortfall(disk, collection)
        if short is not None:
            self._record(*short)
            failures.insert(0, short[1])
        return "; ".join(failures[:FAILURES_LOGGED])

    async def remove_unused(self) -> str:
        """Remove every image that is old enough and not in use. Returns why some stay, '' if none does."""
        recorded = self._pulls.recorded() if self._pulls is not None else {}
        try:
            images, in_use, now, unlisted = await self._list_images()
            going = unused(self._records.values(), in_use, self._thresholds, now)
            if going and unlisted:
                return unlisted
            failures = [text for image_id in going if (text := await self._remove(image_id))]
            await self._forget_pulls(recorded, images)
        except (CriError, OSError) as error:
            failures = [str(error)]
        return "; ".join(failures[:FAILURES_LOGGED])

    async def _list_images(self) -> tuple[list[Image], set[str], float, str]:
        """List the images, the ids of those in use, the time, and why none may be removed now; update their records.
        Raises CriError, OSError."""
        running, kept = self._running(), self._kept()
        images, containers = await self._client.list_images(), await self._client.list_containers()
        in_use, now = used_images(images, containers) | await self._mounted_images(images, containers), self._clock()
        sizes = ((one.id, one.size_bytes, is_exempt(one) or one.id in kept) for one in images)
        self._records = observe(self._records, sizes, in_use, now)
        return images, in_use, now, await self._unlisted(running - {one.id for one in containers})

    async def _unlisted(self, unlisted: set[str]) -> str:
        """Why no image may be removed now, '' if nothing is against it: a container runs that the runtime does not
        list, so its image seems to be unused. `unlisted`: what ran before the list of containers and is not in it.
        Raises CriError."""
        if not unlisted:
            return ""
        missing = unlisted - {one.id for one in await self._client.list_pod_sandboxes()}
        if missing:
            missing &= self._running()  # what ended meanwhile is listed no more
        if not missing:
            return ""
        return f"no image is removed, as containers run that the runtime does not list: {', '.join(sorted(missing))}"

    async def _mounted_images(self, images: list[Image], containers: list[CriContainer]) -> set[str]:
        """IDs of the images of image volumes, which the runtime does not list. Raises CriError."""
        mounted = set[str]()
        for first in range(0, len(containers), _AT_ONCE):
            statuses = (self._status(one.id) for one in containers[first : first + _AT_ONCE])
            mounted.update(
                name for one in await asyncio.gather(*statuses) if one is not None for name in one.mounted_images
            )
        return {image.id for image in images if mounted & {image.id, *image.tags, *image.digests}}

    async def _status(self, container_id: str) -> CriContainer | None:
        """None: it is gone. Raises CriError."""
        try:
            return await self._client.container_status(container_id)
        except NotFound:
            return None

    async def _forget_pulls(self, recorded: Mapping[str, ImagePulledRecord], images: list[Image]) -> None:
        """Forget the pull records, as they were before the images were listed, of images that are not among these.

        A list without any image forgets none: once it is whole again, a private image without its record would count
        as preloaded, and be everybody's."""
        if self._pulls is not None and images:
            there = {image.id for image in images}
            await self._pulls.forget({ref: record for ref, record in recorded.items() if ref not in there})

    def _record(self, reason: str, text: str) -> None:
        """Emit an event of the node; a standalone agent cannot."""
        if self._node_name:
            self._actor.tell(EVENT_CLIENT, node_event(self._node_name, reason, text, "Warning"), deadline=60.0)

    async def _remove(self, image_id: str, reason: str = "space") -> str:
        """Remove the image. `reason`: label of the metric, age or space. Returns the error, '' on success."""
        try:
            await self._client.remove_image(image_id)
        except CriError as error:
            return f"{image_id}: {error}"
        self._actor.log.info("removed unused image %s", image_id)
        self._actor.metrics.count("kubelet_image_garbage_collected_total", reason=reason)
        return ""

    async def _disk(self) -> Disk:
        path = (await self.mountpoints())[0] or "/"
        found = await self._actor.disposable(_STATFS, {"path": path}, deadline=10.0)
        return Disk(*cast("list[int]", found))

    async def mountpoints(self) -> tuple[str, str]:
        """The runtime's directories of images and writable layers; '' if it does not report them. Raises CriError."""
        info = await self._client.image_fs_info()
        images, containers = (
            next((one.mountpoint for one in systems if one.mountpoint), "")
            for systems in (info.images, info.containers)
        )
        return images, containers


def disk_of(path: str) -> list[int]:
    """Capacity and available bytes of the file system at `path`. Runs in a disposable process: statvfs may hang."""
    found = os.statvfs(path)
    return [found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize]


def used_images(images: list[Image], containers: list[CriContainer]) -> set[str]:
    """IDs of the images that containers use; the runtime may refer to an image by any of its names."""
    names = {name for one in containers for name in (one.image_id, one.image_ref, one.image)}
    return {image.id for image in images if names & {image.id, *image.tags, *image.digests}}


def is_exempt(image: Image) -> bool:
    """Whether the image is never collected: it is pinned, or the sandbox image, which older runtimes do not pin."""
    return image.pinned or any("/pause:" in f"/{tag}" for tag in image.tags)
