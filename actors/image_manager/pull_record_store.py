"""Keeps the pull records in memory and on disk, and decides whether a pod may use a present image."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.actor import Actor, DisposableError
from supervision.repeated_warnings import RepeatedWarnings

from .pull_record_files import PULLED, PULLING
from .pull_records import (
    FoundCredential,
    ImagePulledRecord,
    Intent,
    accessible,
    accessible_by_all,
    file_name,
    needs_verification,
    read_intent,
    read_record,
    with_pull,
)

FILE_SECONDS: Final = 10.0
POLICY_ALLOWED: Final = "credentialPolicyAllowed"
RECORD_FOUND: Final = "credentialRecordFound"
MUST_AUTHENTICATE: Final = "mustAuthenticate"
"""Results of a check, as the kubelet labels them."""
_FILES: Final = "actors.image_manager.pull_record_files"

ImageRef = Callable[[str], Awaitable[str]]
"""Returns the ref of an image on the node; '' if it is not present. Raises CriError."""


class RecordFailed(Exception):
    """The intent of a pull could not be written: without it the image could count as preloaded."""


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
        self._warnings = RepeatedWarnings(actor.log)

    async def load(self, image_ref: ImageRef) -> None:
        """Read all files, once. An intent without a record and without a running pull becomes a record without
        credentials. Raises CriError; the next call continues where this one failed."""
        if not self._loaded.is_set():
            await self._read()
            self._loaded.set()
            self._measure()
        for image in sorted(self._leftover):
            ref = await image_ref(image)
            if image in self._leftover and image not in self._running:
                self._leftover.discard(image)
                record = self._records.get(ref) or ImagePulledRecord(ref, lastUpdatedTime=_now()) if ref else None
                await self._settle(image, record)

    async def _read(self) -> None:
        try:
            found = await self._actor.disposable(f"{_FILES}:read_all", {"root_dir": self._root_dir}, deadline=60.0)
        except DisposableError as error:
            self._warnings.warn("load", f"the records of image pulls cannot be read: {error}")
            found = {}
        self._records = {one.imageRef: one for data in found.get(PULLED, ()) if (one := read_record(data)) is not None}
        self._leftover = {intent.image for data in found.get(PULLING, ()) if (intent := read_intent(data)) is not None}

    async def verified(
        self, name: str, image: str, image_ref: str, find: Callable[[], Awaitable[list[FoundCredential]]]
    ) -> bool:
        """Whether a pod may use the present image. `name`: without tag; `find`: the pod's credentials for it."""
        await self._loaded.wait()
        record = self._records.get(image_ref)
        pulled = record is not None or self._may_come_from_pull(image)
        if not needs_verification(self._policy, name, self._allowed, pulled=pulled):
            result = POLICY_ALLOWED
        elif accessible_by_all(record, name) or (record is not None and accessible(record, name, await find())):
            result = RECORD_FOUND
        else:
            result = MUST_AUTHENTICATE
        self._actor.metrics.count("kubelet_imagemanager_image_mustpull_checks_total", result=result)
        return result != MUST_AUTHENTICATE

    async def begin(self, image: str) -> None:
        """A pull is about to start. Raises RecordFailed."""
        await self._loaded.wait()
        intent = msgspec.json.encode(Intent(image))
        async with self._changing:
            problem = await self._change({f"{PULLING}/{file_name(image)}": intent}, ())
            if problem:
                raise RecordFailed(f"failed to record image pull intent for image {image!r}: {problem}")
            self._running[image] += 1
        self._measure()

    async def succeeded(self, image: str, name: str, image_ref: str, used: FoundCredential | None) -> None:
        """`used`: the credential that was accepted; None: the pull was anonymous."""
        self._end_pull(image)
        self._leftover.discard(image)
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
        return image in self._running or image in self._leftover

    async def _settle(self, image: str, record: ImagePulledRecord | None) -> None:
        """A pull has ended. The last pull of the image removes the intent, which stays on disk while the record cannot
        be written."""
        written = {}
        if record is not None:
            self._records[record.imageRef] = record
            written = {f"{PULLED}/{file_name(record.imageRef)}": msgspec.json.encode(record)}
        async with self._changing:
            removed = () if self._may_come_from_pull(image) else (f"{PULLING}/{file_name(image)}",)
            problem = await self._change(written, removed)
        self._measure()
        if problem:
            self._warnings.warn("write", f"the record of a pull of {image} is not written: {problem}")
        else:
            self._warnings.resolved("write")

    def refs(self) -> frozenset[str]:
        """The images with records."""
        return frozenset(self._records)

    async def forget(self, image_refs: Iterable[str]) -> None:
        """These images were removed."""
        removed = [ref for ref in image_refs if self._records.pop(ref, None) is not None]
        if removed:
            await self._change({}, [f"{PULLED}/{file_name(ref)}" for ref in removed])
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
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
