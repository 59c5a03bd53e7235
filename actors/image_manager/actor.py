"""The image manager: pulls images when containers need them, and removes unused ones when their disk fills up.

Crash-only: a running pull continues in the runtime, and the next pull of that image joins it there. Backoffs start
again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import cast

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.pod_workers.messages import ShardPods, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.liveness import CONNECT_SECONDS
from actors.shared.cri.service_outage import IMAGE_SERVICE, POLL_SECONDS, ServiceOutage
from actors.shared.input_quarantine import InputQuarantine
from actors.shared.tracing.start import start_tracer
from supervision.actor import Actor, Address, AskError, DisposableError, on
from supervision.repeated_warnings import RepeatedWarnings

from .built_images import BuiltImages
from .credential_lookup import CredentialLookup
from .credential_plugins import CredentialPlugins
from .garbage_collection import Thresholds
from .image_collector import CollectionRules, ImageCollector
from .image_pulls import ImagePulls
from .messages import (
    EnsureImage,
    GetImageFilesystem,
    GetImages,
    GetPendingImages,
    ImageFailed,
    ImageFilesystem,
    ImageReady,
    NodeImage,
    NodeImages,
    PendingImages,
    RemoveUnusedImages,
    UnusedImagesRemoved,
)
from .node_credentials import NodeCredentials
from .pull_events import PullEvents
from .pull_queue import PullQueue
from .pull_record_store import PullRecords, RecordsUnreadable
from .pull_request import input_of
from .running_containers import running_containers
from .service_accounts import Identities

LOAD_SECONDS = 5.0
QUARANTINE_SECONDS = 300.0
"""Seconds; the backoff of a container whose image is in quarantine, as after many failed pulls."""
ANSWERS = "actors.shared.cri.liveness:answers"
CONFIG_FLAG, BIN_DIR_FLAG = "image-credential-provider-config", "image-credential-provider-bin-dir"


class ImageManager(Actor):
    """Wires its parts and hands each message to one of them; see messages.py."""

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        config = agent.config
        self._warnings = RepeatedWarnings(self.log)
        self._tracer = start_tracer(self, config.tracing, agent.node_name)
        seconds = float(config.runtimeRequestTimeout)
        self._client = CriClient(agent.runtime_endpoint, agent.image_endpoint, seconds, self._tracer, self.metrics)
        parallel = config.maxParallelImagePulls or (1 if config.serializeImagePulls else None)
        queue = PullQueue(parallel, config.registryPullQPS, config.registryBurst)
        credentials = CredentialLookup(NodeCredentials(agent.root_dir), self._plugins(agent))
        records, verified = None, agent.gate("KubeletEnsureSecretPulledImages")
        if verified:
            records = PullRecords(self, agent.root_dir, config)
            self.start_task(self._load(records), "pull records")
        events = PullEvents(partial(self.tell, EVENT_CLIENT), time.monotonic, verified=verified)
        self._pulls = ImagePulls(self._client, self._tracer, self.metrics, queue, credentials, events, records)
        thresholds = Thresholds(
            high_percent=config.imageGCHighThresholdPercent,
            low_percent=config.imageGCLowThresholdPercent,
            minimum_age=float(config.imageMinimumGCAge),
            maximum_age=float(config.imageMaximumGCAge),
        )
        self._quarantine = InputQuarantine(self, agent.run_dir, "pulls", "image")
        node_name = "" if agent.standalone else agent.node_name
        self._collector = ImageCollector(
            self,
            self._client,
            self._tracer,
            CollectionRules(
                thresholds,
                running=lambda: running_containers(config.cgroupRoot),
                kept=BuiltImages(agent.managed_runtime_dir if agent.managed_runtime else "").ids,
            ),
            records,
            node_name,
        )
        self._collector.start()
        if agent.image_endpoint not in ("", agent.runtime_endpoint):  # the PLEG already reports the runtime
            self._outage = ServiceOutage(self, IMAGE_SERVICE, agent.image_endpoint)
            self.every(POLL_SECONDS, lambda: self._look_for_service(agent.image_endpoint), immediately=True)

    async def _look_for_service(self, endpoint: str) -> None:
        arguments = {"path": socket_of(endpoint), "seconds": CONNECT_SECONDS}
        with suppress(DisposableError):
            if await self.disposable(ANSWERS, arguments, deadline=POLL_SECONDS):
                self._outage.answered()

    async def _load(self, records: PullRecords) -> None:
        """Retry until the files can be read and the runtime answers: it may start after the agent."""
        while True:
            try:
                return await records.load(self._image_ref)
            except (CriError, RecordsUnreadable):
                await self.pause(LOAD_SECONDS)

    async def _image_ref(self, image: str) -> str:
        """The ref of the image; '' if it is not present. Raises CriError."""
        found = await self._client.image_status(image)
        return found.id if found is not None else ""

    def _plugins(self, agent: Agent) -> CredentialPlugins | None:
        """The configured credential plug-ins. Their configuration was validated before the start of the agent."""
        path, bin_dir = agent.flags.get(CONFIG_FLAG, ""), agent.flags.get(BIN_DIR_FLAG, "")
        if not path:
            return None
        from actors.shared.config.sources import credential_providers

        providers = credential_providers.load(path, bin_dir)
        with suppress(OSError):
            self.metrics.gauge("kubelet_credential_provider_config_info", 1, hash=credential_providers.digest(path))
        return CredentialPlugins(
            providers, bin_dir, Identities(self._call).identify, self.log.warning, metrics=self.metrics
        )

    async def _call(self, call: ApiCall) -> ApiAnswer:
        try:
            return await self.ask(KUBE_CLIENT, call, timeout=call.timeout + 5.0)
        except AskError as error:
            return ApiAnswer(status=0, reason="Unreachable", message=str(error))

    # -- images for containers ------------------------------------------------------------------------------------
    @on(EnsureImage)
    async def on_ensure(self, message: EnsureImage, sender: Address) -> ImageReady | ImageFailed:
        given = input_of(message)
        if refusal := self._quarantine.refusal(message.image, given):
            return ImageFailed(message.image, "ErrImagePull", refusal, retry_seconds=QUARANTINE_SECONDS)
        with self._tracer.within(message.traceparent):
            return await self._quarantine.run(message.image, given, self._pulls.ensure(message))

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        """Forget the pods that this shard no longer has."""
        known = set(message.uids)
        self._pulls.retain(lambda uid: uid in known or worker_of(uid, message.workers) != message.worker)

    @on(GetPendingImages)
    def on_get_pending_images(self, message: GetPendingImages, sender: Address) -> PendingImages:
        return PendingImages(self._pulls.pending(message.uid))

    # -- what there is --------------------------------------------------------------------------------------------
    @on(GetImages)
    async def on_get_images(self, message: GetImages, sender: Address) -> NodeImages:
        try:
            images = await self._client.list_images()
        except CriError as error:
            self._warnings.warn("images", str(error))
            return NodeImages([])
        self._warnings.resolved("images")
        images.sort(key=lambda image: image.size_bytes, reverse=True)
        return NodeImages([NodeImage([*image.digests, *image.tags], image.size_bytes) for image in images])

    @on(RemoveUnusedImages)
    async def on_remove_unused(self, message: RemoveUnusedImages, sender: Address) -> UnusedImagesRemoved:
        return UnusedImagesRemoved(await self._collector.remove_unused())

    @on(GetImageFilesystem)
    async def on_get_image_filesystem(self, message: GetImageFilesystem, sender: Address) -> ImageFilesystem:
        try:
            found = ImageFilesystem(*await self._collector.mountpoints())
        except CriError as error:
            self._warnings.warn("file system", str(error))
            return ImageFilesystem("")
        self._warnings.resolved("file system")
        return found
