"""The API server for the other actors: requests, the pods of this node, and the objects that these refer to.

The last known state stays while the server is unavailable. pod_config and status_manager receive the pods as bytes,
volume_manager the changes of mounted objects. Nothing is saved on disk: a restart lists again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final

from actors.api_clients.api_actor import ApiActor, client_limits
from actors.api_clients.kube_client.messages import (
    KUBE_CLIENT,
    ApiAnswer,
    ApiCall,
    GetObject,
    GetServices,
    GetTrustBundles,
    ObjectChanged,
    ObjectRef,
    ObjectState,
    Services,
    TrustBundles,
    TrustBundlesChanged,
)
from actors.config_controller.messages import CONFIG_CONTROLLER
from actors.pod_config.messages import POD_CONFIG
from actors.shared.api.errors import ApiError, NodeLost, NotFound
from actors.shared.kube import codec
from actors.shared.kube.credential_sources import POD_CERTIFICATE_GATE, TRUST_BUNDLE_GATE
from actors.shared.lists_in_parts import ListsInParts
from actors.status_manager.messages import STATUS_MANAGER
from actors.volume_manager.messages import VOLUME_MANAGER
from supervision.actor import Address, on
from supervision.addresses import ActorName
from supervision.backoff import BackoffPolicy
from supervision.protocol import FORK_SERVER

from .assigned_config_feed import AssignedConfigFeed
from .cached_collection import CachedCollection, trimmed_service
from .certificate_requests import CertificateRequestFeed
from .node_annotations import annotations_of, ttl_of
from .object_cache import ObjectCache
from .pod_feed import PODS, PodFeed
from .pod_references import references_of
from .refused_collections import RefusedCollections
from .trust_bundles import TrustBundleFeed

if TYPE_CHECKING:
    from actors.shared.api.reflector import Item, Reflector, Store

UPKEEP_SECONDS: Final = 10.0
MAX_CALLS: Final = 1000
"""Limit of concurrent requests for other actors; further ones fail at once: a hanging server costs no memory."""
PODS_BACKOFF: Final = BackoffPolicy(first=0.4, maximum=5.0, factor=2.0, jitter=0.5, free=0)
"""Shorter than the backoff of the other reflectors, which ends when this one succeeds."""
RUNTIME_CLASSES: Final = "/apis/node.k8s.io/v1/runtimeclasses"
CSI_DRIVERS: Final = "/apis/storage.k8s.io/v1/csidrivers"
WAKE_SECONDS: Final = 5.0
"""The shortest time from one end of all backoffs to the next. A proxy whose answers begin well and break off seems to
return with each of them, and would be asked without a pause."""
LOST: Final = "the API server has an older state, in which this node is not registered, and the pods run on as they are"
STANDALONE: Final = "the agent was started without --kubeconfig"


class KubeClient(ApiActor):
    """List, watch and patch of pods, node, secrets, config maps."""

    def __init__(self) -> None:
        super().__init__()
        self.pods = PodFeed(self, self.tell, ListsInParts(self), self._on_pod, self._on_removal)
        self.services = CachedCollection(self, "services", trimmed_service)
        self.runtime_classes = CachedCollection(self, "runtimeclasses")
        self.csi_drivers = CachedCollection(self, "csidrivers")
        self.node = CachedCollection(self, "node", on_change=self._node_changed)
        self.trust_bundles = TrustBundleFeed(
            self,
            lambda name, path, store: self._follow_collection(name, path, "", store),
            lambda: self.tell(VOLUME_MANAGER, TrustBundlesChanged()),
        )
        self.certificate_requests = CertificateRequestFeed(
            self, self._follow_of_node, lambda ref: self.tell(VOLUME_MANAGER, ObjectChanged(ref))
        )
        self.objects: ObjectCache | None = None
        self._reflectors: dict[str, Reflector] = {}
        self._refused = RefusedCollections(partial(self.tell, FORK_SERVER), getLogger(KUBE_CLIENT), time.monotonic)
        self._assigned = AssignedConfigFeed(self.tell, getLogger(KUBE_CLIENT))
        self._calls = 0
        self._woken_at = -WAKE_SECONDS
        """CLOCK_MONOTONIC, in seconds."""
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    # -- connection ---------------------------------------------------------------------------------------------------
    def limits(self) -> dict[str, Any]:
        return client_limits(self.agent.config.kubeAPIQPS, self.agent.config.kubeAPIBurst)

    async def on_start(self) -> None:
        if not self.agent.standalone:
            strategy = self.agent.config.configMapAndSecretChangeDetectionStrategy
            self.objects = ObjectCache(self, strategy, self._object_changed, time.monotonic)
            self.every(UPKEEP_SECONDS, self._upkeep, jitter=0.2)
        await super().on_start()

    async def on_joining(self) -> None:
        name = self.agent.node_name
        self._follow_collection(
            PODS,
            "/api/v1/pods",
            f"spec.nodeName={name}",
            self.pods,
            backoff=PODS_BACKOFF,
            on_restored=self._start_over,
        )
        self._follow_collection("node", "/api/v1/nodes", f"metadata.name={name}", self.node)
        self._follow_collection("services", "/api/v1/services", "", self.services)

    async def on_reconnected(self) -> None:
        self._wake()

    def _follow_collection(
        self,
        name: str,
        path: str,
        fields: str,
        store: Store,
        *,
        backoff: BackoffPolicy | None = None,
        on_restored: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Start the reflector of a collection, if it does not run; it stays when the credentials change."""
        from actors.shared.api.reflector import FollowedCollection, Reflector, ReflectorTimes

        if name not in self._reflectors and self.client is not None:
            query = {"fieldSelector": fields} if fields else {}
            followed, times = FollowedCollection(path, query), ReflectorTimes(backoff) if backoff is not None else None
            reflector = Reflector(self.client, followed, store, times=times, on_restored=on_restored)
            self._reflectors[name] = reflector
            self.start_task(reflector.run(), f"watch {name}")

    def _follow_of_node(self, name: str, path: str, store: Store) -> None:
        """A node may list objects of these collections only with its name as spec.nodeName."""
        self._follow_collection(name, path, f"spec.nodeName={self.agent.node_name}", store)

    def collection_answered(self, collection: str) -> None:
        self._refused.answered(collection)
        self.answered()

    def collection_failed(self, collection: str, error: ApiError) -> None:
        self._refused.failed(collection, error, self.agent.node_name)
        self.failed(error)

    def answered(self) -> None:
        was, now = self._mode, time.monotonic()
        super().answered()
        if was != "joined" and now - self._woken_at >= WAKE_SECONDS:
            self._woken_at = now
            self._wake()

    def _wake(self) -> None:
        """The server answers again, or the credentials are new: end the backoff of all reflectors."""
        for reflector in self._reflectors.values():
            reflector.wake()
        if self.objects is not None:
            self.objects.wake()

    async def _start_over(self, reason: str) -> None:
        """Raises ApiError while the server does not know this node: it has lost everything, so that an empty list of
        pods says nothing of them."""
        try:
            await self.request("GET", f"/api/v1/nodes/{self.agent.node_name}")
        except NotFound as error:
            text = f"{LOST}: {reason}"
            raise NodeLost(error.status, error.reason, text) from None
        self.log.warning("the API server was restored from a backup, all is listed again: %s", reason)
        for name, reflector in self._reflectors.items():
            if name != PODS:  # the list that told it
                reflector.start_over()
        if self.objects is not None:
            self.objects.start_over()

    async def on_hello(self, name: ActorName) -> None:
        if name in (POD_CONFIG, STATUS_MANAGER):
            self.pods.tell_all(name)
        elif name == CONFIG_CONTROLLER and self.objects is not None and self._assigned.follows:
            self.objects.tell_all()

    # -- pods ---------------------------------------------------------------------------------------------------------
    def _on_pod(self, item: Item) -> None:
        assert self.objects is not None  # noqa: S101 - there is a server
        try:
            refs = references_of(item.data)
        except codec.ObjectError as error:
            # pod_config puts it in quarantine, and reports it
            self.log.warning("pod %s/%s cannot be read: %s", item.namespace, item.name, error)
            refs = {}
        self.objects.refer(item.uid, refs)
        if self.agent.gate(TRUST_BUNDLE_GATE):
            self.trust_bundles.see_pod(item.data)
        if self.agent.gate(POD_CERTIFICATE_GATE):
            self.certificate_requests.see_pod(item.data)
        self._count()

    def _on_removal(self, uids: set[str]) -> None:
        assert self.objects is not None  # noqa: S101
        self.objects.retain(uids)
        self._count()

    def _count(self) -> None:
        if self.objects is not None:
            self.metrics.gauge("troupelet_cached_objects", len(self.objects))

    # -- objects ------------------------------------------------------------------------------------------------------
    def _object_changed(self, state: ObjectState) -> None:
        self._assigned.object_changed(state)
        self.tell(VOLUME_MANAGER, ObjectChanged(state.ref))

    def _node_changed(self) -> None:
        body = self.node.objects.get(("", self.agent.node_name))
        if body is None or self.objects is None:
            return
        annotations = annotations_of(body)
        self.objects.set_ttl(ttl_of(annotations))
        if self.agent.gate("DynamicKubeletConfig"):
            self._assigned.follow(annotations, self.objects)

    async def _upkeep(self) -> None:
        if self.objects is not None and self.client is not None:
            await self.objects.upkeep(self._rng)
            self._assigned.report_forbidden(self.objects)
            self.metrics.gauge("troupelet_object_watches", self.objects.watches)

    @on(GetObject)
    async def on_get_object(self, message: GetObject, sender: Address) -> ObjectState:
        ref = message.ref
        if self.objects is None:
            return ObjectState(ref, reason="Standalone", message=STANDALONE)
        if ref.kind == "Node":
            return await self._from_collection(self.node, ref, message.wait)
        if ref.kind == "RuntimeClass":
            self._follow_collection("runtimeclasses", RUNTIME_CLASSES, "", self.runtime_classes)
            return await self._from_collection(self.runtime_classes, ref, message.wait)
        if ref.kind == "CSIDriver":
            self._follow_collection("csidrivers", CSI_DRIVERS, "", self.csi_drivers)
            return await self._from_collection(self.csi_drivers, ref, message.wait)
        if ref.kind == "PodCertificateRequest":
            self.certificate_requests.want()
            return await self._from_collection(self.certificate_requests.collection, ref, message.wait)
        return await self.objects.get(ref, message.wait)

    async def _from_collection(self, collection: CachedCollection, ref: ObjectRef, wait: float) -> ObjectState:
        if not await collection.is_synced(wait):
            error = collection.error
            reason, text = (error.reason, error.message) if error is not None else ("Unreachable", "not listed yet")
            return ObjectState(ref, reason=reason, message=text)
        body = collection.objects.get((ref.namespace, ref.name))
        if body is None:
            return ObjectState(ref, reason="NotFound", message=f'{ref.kind} "{ref.name}" not found')
        return ObjectState(ref, body)

    @on(GetTrustBundles)
    async def on_get_trust_bundles(self, message: GetTrustBundles, sender: Address) -> TrustBundles:
        return await self.trust_bundles.get(message)

    @on(GetServices)
    def on_get_services(self, message: GetServices, sender: Address) -> Services:
        services = self.services.objects
        in_namespace = [body for (namespace, _), body in services.items() if namespace == message.namespace]
        return Services(self.services.synced.is_set(), in_namespace, services.get(("default", "kubernetes"), b""))

    # -- requests -----------------------------------------------------------------------------------------------------
    @on(ApiCall)
    async def on_api_call(self, message: ApiCall, sender: Address) -> ApiAnswer:
        if self.agent.standalone:
            return ApiAnswer(status=0, reason="Standalone", message=STANDALONE)
        if self._calls >= MAX_CALLS:
            return ApiAnswer(status=0, reason="Unreachable", message=f"{MAX_CALLS} requests are waiting already")
        self._calls += 1
        try:
            answer = await self.request(
                message.method, message.path, query=message.query, body=message.body,
                content_type=message.content_type, timeout=message.timeout,
            )  # fmt: skip
        except ApiError as error:
            return ApiAnswer(
                status=error.status, reason=error.reason, message=error.message, retry_after=error.retry_after
            )
        finally:
            self._calls -= 1
        return ApiAnswer(status=answer.status, body=answer.body)
