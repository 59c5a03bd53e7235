"""The PodCertificateRequests of this node, watched once a pod of this node, or a question, needs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef
from supervision.errors import UNREADABLE

from .cached_collection import CachedCollection
from .pod_feed import CollectionOwner

PLURAL: Final = "podcertificaterequests"
PATH: Final = f"/apis/certificates.k8s.io/v1beta1/{PLURAL}"
_MENTION: Final = b'"podCertificate"'
"""What the JSON of each pod with such a source has."""


class CertificateRequestFeed:
    def __init__(
        self,
        owner: CollectionOwner,
        follow: Callable[[str, str, CachedCollection], None],
        changed: Callable[[ObjectRef], None],
    ) -> None:
        """`follow` starts to watch this node's objects of a collection, by its name and path; `changed` is called with
        each request that is new, changed or gone."""
        self._follow = follow
        self.collection = CachedCollection(
            owner, PLURAL, trimmed_to_status, on_object=lambda space, name: changed(ref_of(space, name))
        )

    def want(self) -> None:
        """Watch the requests from now on."""
        self._follow(PLURAL, PATH, self.collection)

    def see_pod(self, data: bytes) -> None:
        """A pod of this node, as JSON."""
        if _MENTION in data:
            self.want()


def ref_of(namespace: str, name: str) -> ObjectRef:
    return ObjectRef("PodCertificateRequest", name, namespace)


class _OnlyStatus(msgspec.Struct):
    status: msgspec.Raw = msgspec.Raw(b"{}")


def trimmed_to_status(data: bytes) -> bytes:
    """The status alone; what cannot be read stays as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(data, type=_OnlyStatus))
    except UNREADABLE:
        return data
