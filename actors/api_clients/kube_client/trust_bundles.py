"""The ClusterTrustBundles of the cluster: in which version the API server has them, and what it has.

They are watched once a pod of this node, or a question, needs one. An API server that has them in no version is asked
again each minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from actors.api_clients.kube_client.messages import GetTrustBundles, TrustBundles
from actors.shared.api.errors import ApiError, NotFound
from actors.shared.kube import codec
from actors.shared.kube.credential_sources import NO_TRUST_BUNDLES
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.trust_bundles import ClusterTrustBundle
from supervision.errors import UNREADABLE

from .cached_collection import CachedCollection
from .pod_feed import CollectionOwner

if TYPE_CHECKING:
    from actors.shared.api.client import ApiResponse

PLURAL: Final = "clustertrustbundles"
VERSIONS: Final = ("v1beta1", "v1alpha1")
"""Versions of certificates.k8s.io, the first choice first, as in the kubelet."""
_MENTION: Final = b'"clusterTrustBundle"'
"""What the JSON of each pod with such a source has."""
AGAIN_SECONDS: Final = 60.0
_NOT_SYNCED: Final = "ClusterTrustBundle informer has not yet synced"
_UNDETERMINED: Final = (
    "failed to ensure informer manager for ClusterTrustBundles: failed to determine which informer manager to choose"
)


class FeedActor(CollectionOwner, Protocol):
    """The interface of the feed to its actor."""

    async def request(self, method: str, path: str) -> ApiResponse: ...
    def start_task(self, coroutine: Any, name: str = "") -> asyncio.Task[Any]: ...


class TrustBundleFeed:
    def __init__(
        self,
        actor: FeedActor,
        follow: Callable[[str, str, CachedCollection], None],
        changed: Callable[[], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`follow` starts to watch a collection, by its name and path; `changed` is called after each change."""
        self._actor, self._follow, self._sleep = actor, follow, sleep
        self.collection = CachedCollection(actor, PLURAL, trimmed_bundle, changed)
        self._search: asyncio.Task[Any] | None = None
        self._looked = asyncio.Event()
        """Set after the first search for the version."""
        self._error = ""
        """Why there is no collection to watch; empty: it is watched."""

    def want(self) -> None:
        """Watch the bundles from now on."""
        if self._search is None:
            self._search = self._actor.start_task(self._find(), "find ClusterTrustBundles")

    def see_pod(self, data: bytes) -> None:
        """A pod of this node, as JSON."""
        if _MENTION in data:
            self.want()

    async def get(self, wanted: GetTrustBundles) -> TrustBundles:
        self.want()
        try:
            await asyncio.wait_for(self._looked.wait(), wanted.wait)
        except TimeoutError:
            return TrustBundles(error=f"{_UNDETERMINED}: the API server has not answered within {wanted.wait:g} s")
        if self._error:
            return TrustBundles(error=self._error)
        if not await self.collection.is_synced(wanted.wait):
            error = self.collection.error
            return TrustBundles(error=f"{_NOT_SYNCED}: {error}" if error is not None else _NOT_SYNCED)
        return TrustBundles(chosen(self.collection.objects.values(), wanted.name, wanted.signer))

    async def _find(self) -> None:
        """Until the version is found."""
        while True:
            try:
                path = await self._path()
                self._error = "" if path else f"{NO_TRUST_BUNDLES} (the API server has no ClusterTrustBundles)"
            except ApiError as error:
                path, self._error = "", f"{_UNDETERMINED}: {error}"
            if path:
                self._follow(PLURAL, path, self.collection)
            self._looked.set()
            if path:
                return
            await self._sleep(AGAIN_SECONDS)

    async def _path(self) -> str:
        """The collection's path; '' if the server has none. Raises ApiError."""
        for version in VERSIONS:
            group = f"/apis/certificates.k8s.io/{version}"
            try:
                if has_collection((await self._actor.request("GET", group)).body):
                    return f"{group}/{PLURAL}"
            except NotFound:
                continue
        return ""


# -- pure -------------------------------------------------------------------------------------------------------------
class _Resource(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


def has_collection(body: bytes) -> bool:
    """Whether an APIResourceList has the bundles."""
    try:
        return any(one.name == PLURAL for one in msgspec.json.decode(body, type=_Resources).resources)
    except UNREADABLE:
        return False


def trimmed_bundle(data: bytes) -> bytes:
    """Name, labels and spec; one that cannot be read stays as it is."""
    try:
        bundle = codec.decode(data, ClusterTrustBundle)
    except codec.ObjectError:
        return data
    meta = ObjectMeta(name=bundle.metadata.name, labels=bundle.metadata.labels)
    return msgspec.json.encode(ClusterTrustBundle(metadata=meta, spec=bundle.spec))


def chosen(bodies: Iterable[bytes], name: str, signer: str) -> list[bytes]:
    """The bundles with this name or, without one, of this signer."""
    found = []
    for body in bodies:
        try:
            bundle = codec.decode(body, ClusterTrustBundle)
        except codec.ObjectError:
            continue
        if bundle.metadata.name == name if name else bundle.spec.signerName == signer:
            found.append(body)
    return found
