"""Keeps the pull records in memory and on disk, and decides whether a pod may use a present image."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.times import rfc3339
from supervision.actor import Actor, DisposableError
from supervision.repeated_warnings import RepeatedWarnings

from .pull_record_reading import intent_paths, interpret, record_path, spellings
from .pull_records import (
    FoundCredential,
    ImagePulledRecord,
    Intent,
    accessible_by_all,
    lacks,
    matching,
    needs_verification,
    with_pull,
)

FILE_SECONDS: Final = 10.0
POLICY_ALLOWED: Final = "credentialPolicyAllowed"
RECORD_FOUND: Final = "credentialRecordFound"
MUST_AUTHENTICATE: Final = "mustAuthenticate"
NOT_READABLE: Final = "error"
"""Results of a check, as the kubelet labels them."""
_FILES: Final = "actors.image_manager.pull_record_files"

ImageRef = Callable[[str], Awaitable[str]]
"""Returns the ref of an image on the node; '' if it is not present. Raises CriError."""


class RecordFailed(Exception):
    """The intent of a pull could not be written: without it the image could count as preloaded."""


class RecordsUnreadable(Exception):
    """The records could not be read: until they are, every present image is verified by a pull."""


class PullRecords:
    """The pull records of the image manager, with the gate KubeletEnsureSecretPulledImages."""

    def __init__(self, actor: Actor, root_dir: str, config: KubeletConfiguration) -> None:
        self._actor, self._root_dir = actor, root_dir
        self._policy = config.imagePullCredentialsVerificationPolicy
        self._allowed = config.preloadedImagesVerificationAllowlist
        self._records: dict[str, ImagePulledRecord] = {}
        self._running: Counter[str] = Counter()
        """Running pulls by image: pulls with different credentials run concurrently."""
        self._leftover: set[str] = set()
        """Images of ended pulls with an unknown result."""
        self._changing = asyncio.Lock()
        """Serializes file changes: an intent is not removed while the next pull writes it again."""
        self._loaded = asyncio.Event()
        """The files were read, or could not be."""
        self._is_read = False
        self._unreadable: set[str] = set()
        self._warnings = RepeatedWarnings(actor.log)

    async def load(self, image_ref: ImageRef) -> None:
        """Read all files, once. An intent without a record and without a running pull becomes a record without
        credentials. Raises CriError, RecordsUnreadable; the next call continues where this one failed."""
        if not self._is_read:
            self._is_read = await self._read()
            self._loaded.set()
            self._measure()
        if not self._is_read:
            raise RecordsUnreadable
        for image in sorted(self._leftover):
            ref = await image_ref(image)
            if image in self._leftover and image not in self._running:
                self._leftover.discard(image)
                record = self._records.get(ref) or ImagePulledRecord(ref, lastUpdatedTime=_now()) if ref else None
                await self._settle(image, record)

    async def _read(self) -> bool:
        """Whether the directories were read. What was recorded meanwhile counts."""
        try:
            found = await self._actor.disposable(f"{_FILES}:read_all", {"root_dir": self._root_dir}, deadline=60.0)
        except DisposableError as error:
            text = "the records of image pulls cannot be read (tried again): images on the node are pulled again"
            self._warnings.warn("load", f"{text}: {error}")
            return False
        self._warnings.resolved("load")
        read = interpret(found)
        self._records = read.records | self._records
        self._leftover |= read.leftover - self._running.keys()
        self._unreadable = read.unreadable
        for path in sorted(self._unreadable):
            self._actor.log.warning("%s/%s is damaged: its image is verified by a pull", self._root_dir, path)
        return True

    async def verified(
        self, name: str, image: str, image_ref: str, find: Callable[[], Awaitable[list[FoundCredential]]]
    ) -> bool:
        """Whether a pod may use the present image. `name`: without tag; `find`: the pod's credentials for it."""
        await self._loaded.wait()
        result = await self._check(name, image, image_ref, find)
        self._actor.metrics.count("kubelet_imagemanager_image_mustpull_checks_total", result=result)
        return result in (POLICY_ALLOWED, RECORD_FOUND)

    async def _check(
        self, name: str, image: str, image_ref: str, find: Callable[[], Awaitable[list[FoundCredential]]]
    ) -> str:
        record = self._records.get(image_ref)
        if record is None and not self._is_known(image, image_ref):
            return NOT_READABLE
        pulled = record is not None or self._may_come_from_pull(image)
        if not needs_verification(self._policy, name, self._allowed, pulled=pulled):
            return POLICY_ALLOWED
        if accessible_by_all(record, name):
            return RECORD_FOUND
        used = matching(record, name, await find()) if record is not None else None
        if used is None:
            return MUST_AUTHENTICATE
        await self._learn(image_ref, name, used)
        return RECORD_FOUND

    def _is_known(self, image: str, image_ref: str) -> bool:
        """Whether the files show if the image was pulled. Otherwise it must not count as preloaded."""
        return self._is_read and self._unreadable.isdisjoint((record_path(image_ref), *intent_paths(image)))

    async def _learn(self, image_ref: str, name: str, used: FoundCredential) -> None:
        """Record a secret that gave access by an equal credential, or has another credential by now: later on either of
        the two is enough."""
        record = self._records.get(image_ref)
        if record is not None and lacks(record, name, used):
            self._records[image_ref] = record = with_pull(record, image_ref, name, used, _now())
            async with self._changing:
                problem = await self._change({record_path(image_ref): msgspec.json.encode(record)}, ())
            if problem:
                self._warnings.warn("write", f"the record of the pulls of {name} is not written: {problem}")

    async def start(self, image: str) -> None:
        """A pull is about to start. Raises RecordFailed."""
        await self._loaded.wait()
        intent, path = msgspec.json.encode(Intent(image)), intent_paths(image)[0]
        async with self._changing:
            problem = await self._change({path: intent}, ())
            if problem:
                raise RecordFailed(f"failed to record image pull intent for image {image!r}: {problem}")
            self._unreadable.discard(path)
            self._running[image] += 1
        self._measure()

    async def succeeded(self, image: str, name: str, image_ref: str, used: FoundCredential | None) -> None:
        """`used`: the credential that was accepted; None: the pull was anonymous."""
        self._end_pull(image)
        self._leftover -= set(spellings(image))
        await self._settle(image, with_pull(self._records.get(image_ref), image_ref, name, used, _now()))

    async def failed(self, image: str) -> None:
        """The pull has failed: there is no new image."""
        self._end_pull(image)
        await self._settle(image, None)

    def lost(self, image: str) -> None:
        """The pull has succeeded, but the runtime does not report the image: its intent stays."""
        self._end_pull(image)
        self._leftover.add(image)

    def _end_pull(self, image: str) -> None:
        self._running[image] -= 1
        self._running = +self._running

    def _may_come_from_pull(self, image: str) -> bool:
        """Whether the present image may come from a pull."""
        return image in self._running or not self._leftover.isdisjoint(spellings(image))

    async def _settle(self, image: str, record: ImagePulledRecord | None) -> None:
        """A pull has ended. The last pull of the image removes the intent, which stays on disk while the record cannot
        be written."""
        written = {}
        if record is not None:
            self._records[record.imageRef] = record
            self._unreadable.discard(record_path(record.imageRef))
            written = {record_path(record.imageRef): msgspec.json.encode(record)}
        async with self._changing:
            done = not self._may_come_from_pull(image)
            removed = intent_paths(image) if done else []
            problem = await self._change(written, removed)
        self._measure()
        if problem:
            self._warnings.warn("write", f"the record of a pull of {image} is not written: {problem}")
        else:
            self._warnings.resolved("write")

    def recorded(self) -> dict[str, ImagePulledRecord]:
        """The present records, by image."""
        return dict(self._records)

    async def forget(self, gone: Mapping[str, ImagePulledRecord]) -> None:
        """The images of these records are gone. A record that a pull has made again since stays."""
        removed = [ref for ref, record in gone.items() if self._records.get(ref) is record]
        for ref in removed:
            del self._records[ref]
        if removed:
            async with self._changing:  # not after a later pull has written its record
                await self._change({}, [record_path(ref) for ref in removed])
            self._measure()

    def _measure(self) -> None:
        metrics = self._actor.metrics
        metrics.gauge("kubelet_imagemanager_ondisk_pulledrecords", len(self._records))
        metrics.gauge("kubelet_imagemanager_ondisk_pullintents", len(self._leftover | self._running.keys()))

    async def _change(self, written: Mapping[str, bytes], removed: Iterable[str]) -> str:
        """Change the files. Returns the error, '' on success."""
        arguments = {"root_dir": self._root_dir, "written": dict(written), "removed": list(removed)}
        try:
            await self._actor.disposable(f"{_FILES}:change", arguments, deadline=FILE_SECONDS)
        except DisposableError as error:
            return str(error)
        return ""


def _now() -> str:
    return rfc3339(time.time())
