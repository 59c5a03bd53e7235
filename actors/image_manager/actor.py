"""Has images pulled when a container needs them, and removed when the disk does.

Crash-only: a pull that was under way is the runtime's, and asking for it again joins it there. Backoffs begin anew.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from functools import partial
from typing import cast

from actors.api_clients.messages import EVENT_CLIENT, KUBE_CLIENT, ApiAnswer, ApiCall
from actors.pod_workers.messages import KnownPods
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.cri.model import Container, Image
from actors.shared.tracing.start import begin
from supervision.actor import Actor, Address, AskError, DisposableError, on
from supervision.backoff import Backoff, BackoffPolicy

from .credential_plugins import Account, Plugins
from .garbage_collection import Disk, ImageRecord, Thresholds, observe, plan
from .image_reference import Reference, ReferenceInvalid, parse, pull_policy
from .keyring import Credential, qualified, read_docker_config
from .messages import (
    EnsureImage,
    GetImageFilesystem,
    GetImages,
    ImageFailed,
    ImageFilesystem,
    ImageReady,
    NodeImage,
    NodeImages,
)
from .node_credentials import NodeCredentials
from .pending_pulls import Asked, Outcome
from .pull_events import Announcer
from .pull_queue import Pulls
from .pull_request import auth, image_spec, sandbox
from .service_accounts import identify

BACKOFF = BackoffPolicy(first=10.0, maximum=300.0, jitter=0.0, reset_after=600.0, free=0)
CONFIG_FLAG, BIN_DIR_FLAG = "image-credential-provider-config", "image-credential-provider-bin-dir"
ANSWER_SECONDS = 8.0
"""A caller is told `pulling` after so long: its own deadline is longer, and it asks again."""
COLLECT_SECONDS = 300.0
FAILURES_SAID = 3
REASONS = ("RegistryUnavailable", "SignatureValidationFailed")
"""Reasons that a runtime gives as the first word of its error."""


class ImageManager(Actor):
    """Owns the pulls of this node and the records that image collection goes by."""

    def __init__(self) -> None:
        super().__init__()
        self._backoffs: dict[tuple[str, str], tuple[Backoff, float, str, str]] = {}
        self._records: dict[str, ImageRecord] = {}
        self._collect_failures = 0
        self._began = time.monotonic()
        self._plugins: Plugins | None = None
        self._asked = Asked(time.monotonic)
        self._told = Announcer(partial(self.tell, EVENT_CLIENT), time.monotonic)

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        config = agent.config
        self._node_credentials = NodeCredentials(agent.root_dir)
        self._load_plugins(agent)
        self.tracer = begin(self, config.tracing, agent.node_name)
        seconds = float(config.runtimeRequestTimeout)
        self.client = CriClient(agent.runtime_endpoint, agent.image_endpoint, seconds, self.tracer)
        parallel = None if not config.serializeImagePulls else 1
        self.pulls = Pulls(config.maxParallelImagePulls or parallel, config.registryPullQPS, config.registryBurst)
        self.thresholds = Thresholds(
            high_percent=config.imageGCHighThresholdPercent,
            low_percent=config.imageGCLowThresholdPercent,
            minimum_age=float(config.imageMinimumGCAge),
            maximum_age=float(config.imageMaximumGCAge),
        )
        if self.thresholds.high_percent < 100 or self.thresholds.maximum_age:
            self.every(COLLECT_SECONDS, self.collect)

    def _load_plugins(self, agent: Agent) -> None:
        """They were judged before the agent was started."""
        path, bin_dir = agent.flags.get(CONFIG_FLAG, ""), agent.flags.get(BIN_DIR_FLAG, "")
        if path:
            from actors.shared.config.sources import credential_providers

            providers = credential_providers.load(path, bin_dir)
            self._plugins = Plugins(providers, bin_dir, partial(identify, self._call), self.log.warning)

    async def _call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self.ask(KUBE_CLIENT, call, ApiAnswer, timeout=call.timeout + 5.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=str(error))

    # -- images for containers ------------------------------------------------------------------------------------
    @on(EnsureImage)
    async def on_ensure(self, message: EnsureImage, sender: Address) -> ImageReady | ImageFailed:
        with self.tracer.within(message.traceparent):
            return await self._ensure(message)

    async def _ensure(self, message: EnsureImage) -> ImageReady | ImageFailed:
        try:
            reference = parse(message.image)
        except ReferenceInvalid as error:
            text = f'Failed to apply default image tag "{message.image}": {error}'
            return ImageFailed(message.image, "InvalidImageName", text)
        policy = pull_policy(message.policy, reference)
        try:
            present = await self.client.image_status(reference.full, message.runtime_handler)
        except CriError as error:
            text = f'Failed to inspect image "{reference.full}": {error}'
            return ImageFailed(message.image, "ImageInspectError", text, retry_seconds=1.0)
        if present is not None and policy != "Always":
            self._told.there(message, present.size_bytes, reference.full)
            return ready(message.image, present, pulled=self._asked.forget(message))
        if policy == "Never":
            text = f'Container image "{message.image}" is not present with pull policy of Never'
            return ImageFailed(message.image, "ErrImageNeverPull", text)
        # who was told to ask again is told how it ended, before any backoff that this began
        failed = None if self._asked.expected(message) else self._waiting(message, reference)
        return failed or await self._pull(message, reference)

    def _waiting(self, message: EnsureImage, reference: Reference) -> ImageFailed | None:
        """The failure of before, while its backoff lasts."""
        found = self._backoffs.get((message.uid, reference.full))
        if found is None or found[1] <= time.monotonic():
            return None
        text = f'Back-off pulling image "{message.image}": {found[2]}: {found[3]}'
        return ImageFailed(message.image, "ImagePullBackOff", text, retry_seconds=found[1] - time.monotonic())

    async def _pull(self, message: EnsureImage, reference: Reference) -> ImageReady | ImageFailed:
        """How it ended, or that it goes on: then it does so whether or not somebody asks again."""
        self._told.begun(message)
        outcome = await self._asked.outcome(message, lambda: self._obtain(message, reference), ANSWER_SECONDS)
        if outcome is None:
            return ImageFailed(message.image, "", f'Pulling image "{message.image}"', pulling=True)
        if isinstance(outcome, ImageReady):
            self._told.there(message, outcome.size_bytes, reference.full)
        else:
            self._told.failed(message)
        return outcome

    async def _obtain(self, message: EnsureImage, reference: Reference) -> Outcome:
        """Once for all containers of a pod that wait for it, so that a failure counts once for its backoff."""
        try:
            credentials = await self._credentials(message, reference)
            # a runtime may judge an image by the namespace that it is for
            key = (reference.full, message.runtime_handler, message.namespace, tuple(credentials))
            task = self.pulls.join(key, lambda: self._traced_pull(message, reference.full, credentials))
            image_ref = await asyncio.shield(task)
            found = await self.client.image_status(image_ref, message.runtime_handler)
        except CriError as error:
            return self._failed(message, reference, error)
        self._backoffs.pop((message.uid, reference.full), None)
        if found is None:
            text = f'image "{message.image}" was pulled as {image_ref} and is not on the node'
            return ImageFailed(message.image, "ImageInspectError", text, retry_seconds=1.0)
        return ready(message.image, found, pulled=True)

    async def _credentials(self, message: EnsureImage, reference: Reference) -> list[Credential]:
        """The pod's, then the node's, then those of plug-ins: all that fit, in the order in which they are tried."""
        found = read_docker_config(message.pull_secrets).matching(reference.name)
        found += self._node_credentials.keyring().matching(reference.name)
        if self._plugins is not None:
            account = Account(message.namespace, message.service_account, message.pod_name, message.uid)
            found += await self._plugins.matching(qualified(reference.name), account)
        return list(dict.fromkeys(found))

    async def _traced_pull(self, message: EnsureImage, image: str, credentials: list[Credential]) -> str:
        """In the trace of the pod that asked first; others that join the pull are not in it."""
        with self.tracer.span("Images/Pull", {"container.image.name": image}):
            return await self._pull_with(message, image, credentials)

    async def _pull_with(self, message: EnsureImage, image: str, credentials: list[Credential]) -> str:
        """Pull with each credential until one will do; without any: anonymously. Raises the last CriError."""
        spec, pod, began = image_spec(message, image), sandbox(message), time.monotonic()
        for number, credential in enumerate(credentials or [None], 1):
            try:
                image_ref = await self.client.pull_image(spec, auth(credential), pod)
            except CriError:
                if number >= len(credentials):
                    self.metrics.count("kubelet_runtime_operations_errors_total", operation_type="pull_image")
                    raise
                continue
            self._told.took[image] = seconds = time.monotonic() - began
            self.metrics.observe("kubelet_image_pull_duration_seconds", seconds)
            return image_ref
        raise AssertionError("unreachable")

    def _failed(self, message: EnsureImage, reference: Reference, error: CriError) -> ImageFailed:
        text = f'Failed to pull image "{message.image}": {error}'
        if isinstance(error, Unavailable):
            return ImageFailed(message.image, "ErrImagePull", text, retry_seconds=1.0)
        reason = next((reason for reason in REASONS if error.details.startswith(reason)), "ErrImagePull")
        key = (message.uid, reference.full)
        now = time.monotonic()
        before, until, *_ = self._backoffs.get(key, (Backoff(), now, "", ""))
        backoff = before.failed(BACKOFF, max(0.0, now - until))
        pause = backoff.pause(BACKOFF, random.random)
        self._backoffs[key] = (backoff, now + pause, reason, str(error))
        return ImageFailed(message.image, reason, text, retry_seconds=pause)

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        """Backoffs of this worker's pods that are gone are forgotten."""
        from actors.pod_workers.messages import worker_of

        known = set(message.uids)
        for uid, image in list(self._backoffs):
            if uid not in known and worker_of(uid, message.workers) == message.worker:
                del self._backoffs[uid, image]

        def here(uid: str) -> bool:
            return uid in known or worker_of(uid, message.workers) != message.worker

        self._asked.retain(here)
        self._told.retain(here, {image for _, image in self._backoffs})

    # -- what there is --------------------------------------------------------------------------------------------
    @on(GetImages)
    async def on_get_images(self, message: GetImages, sender: Address) -> NodeImages:
        try:
            images = await self.client.list_images()
        except CriError as error:
            self.log.warning("%s", error)
            return NodeImages([])
        images.sort(key=lambda image: image.size_bytes, reverse=True)
        return NodeImages([NodeImage([*image.digests, *image.tags], image.size_bytes) for image in images])

    @on(GetImageFilesystem)
    async def on_get_image_filesystem(self, message: GetImageFilesystem, sender: Address) -> ImageFilesystem:
        try:
            return ImageFilesystem(await self._mountpoint())
        except CriError as error:
            self.log.warning("%s", error)
            return ImageFilesystem("")

    # -- collection -----------------------------------------------------------------------------------------------
    async def collect(self) -> None:
        """One round of image collection; what fails is said from the second time on, as in the reference."""
        with self.tracer.span("Images/GarbageCollect") as span:
            try:
                failure = await self._collect()
            except (CriError, DisposableError) as error:
                failure = str(error)
            if failure:
                span.fail(failure)
        if not failure:
            self._collect_failures = 0
            return
        self._collect_failures += 1
        self.log.log(40 if self._collect_failures > 1 else 30, "image collection failed: %s", failure)

    async def _collect(self) -> str:
        """What could not be removed and why, '' when all was. Raises CriError, DisposableError."""
        images, containers = await self.client.list_images(), await self.client.list_containers()
        in_use = used_images(images, containers)
        now = time.monotonic()
        self._records = observe(self._records, ((i.id, i.size_bytes, spared(i)) for i in images), in_use, now)
        left, failures = dict(self._records), []
        while True:
            disk = await self._disk()
            collection = plan(left.values(), in_use, disk, self.thresholds, now, now - self._began)
            failed = [text for image_id in collection.remove if (text := await self._remove(image_id))]
            left = {image_id: record for image_id, record in left.items() if image_id not in collection.remove}
            failures += failed
            if not failed:  # else others go in the place of what stays
                break
        if collection.wanted_bytes > collection.freeable_bytes:
            self.log.warning(
                "the image disk is %d %% full; %d bytes are to be freed and unused images have %d",
                disk.used_percent,
                collection.wanted_bytes,
                collection.freeable_bytes,
            )
        return "; ".join(failures[:FAILURES_SAID])

    async def _remove(self, image_id: str) -> str:
        """'' or why it stays."""
        try:
            await self.client.remove_image(image_id)
        except CriError as error:
            return f"{image_id}: {error}"
        self.log.info("removed unused image %s", image_id)
        self.metrics.count("kubelet_image_garbage_collected_total", reason="space")
        return ""

    async def _disk(self) -> Disk:
        path = await self._mountpoint() or "/"
        found = await self.disposable("actors.image_manager.actor:disk_of", {"path": path}, deadline=10.0)
        return Disk(*cast("list[int]", found))

    async def _mountpoint(self) -> str:
        """'' when the runtime does not say. Raises CriError."""
        info = await self.client.image_fs_info()
        return next((fs.mountpoint for fs in info.images if fs.mountpoint), "")


def disk_of(path: str) -> list[int]:
    """Capacity and available bytes of the file system at `path`; run apart, since a statvfs can hang."""
    found = os.statvfs(path)
    return [found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize]


def used_images(images: list[Image], containers: list[Container]) -> set[str]:
    """Ids of the images that containers use, whichever of its names the runtime tells."""
    names = {name for one in containers for name in (one.image_id, one.image_ref, one.image)}
    return {image.id for image in images if names & {image.id, *image.tags, *image.digests}}


def spared(image: Image) -> bool:
    """Pinned by the runtime, or the sandbox image, which older runtimes do not pin."""
    return image.pinned or any("/pause:" in f"/{tag}" for tag in image.tags)


def ready(asked: str, image: Image, *, pulled: bool) -> ImageReady:
    return ImageReady(asked, image.id, image.size_bytes, image.uid, image.username, pulled)
