"""The messages of the client for the requests of other actors.

Only the three clients talk to the API server (and cert_manager, for the certificates that they need). Every other actor
asks this one for one request (ApiCall), or for an object that it watches (GetObject).
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

KUBE_CLIENT: Final = ActorName("api_clients/kube_client")


class ApiCall(Question["ApiAnswer"], frozen=True, kw_only=True):
    """A request to the API server with the node's credentials. Always answered with ApiAnswer.

    kube_client retries it once, on a fresh connection; further retries are up to the caller.
    """

    method: str
    path: str
    """Without the server, each part percent-encoded: `/api/v1/namespaces/default/pods/web/status`."""
    query: dict[str, str] = {}
    body: bytes = b""
    content_type: str = "application/json"
    timeout: float = 10.0
    """Seconds."""


class ApiAnswer(Message, frozen=True, kw_only=True):
    """The answer of the API server, or why there is none."""

    status: int
    """HTTP status; 0: no answer (server unavailable, no credentials, standalone)."""
    body: bytes = b""
    """JSON: the object, or a Status."""
    reason: str = ""
    """Why the call failed: Status.reason (NotFound, Conflict, AlreadyExists, Forbidden, Gone, TooManyRequests, ...), or
    Unreachable, NoCredentials, Standalone."""
    message: str = ""
    retry_after: float = 0.0
    """Seconds that the server asks for."""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class ObjectRef(msgspec.Struct, frozen=True):
    """An object that kube_client can cache: Secret, ConfigMap, PodCertificateRequest of this node (with a namespace),
    RuntimeClass, CSIDriver, Node (without)."""

    kind: Literal["Secret", "ConfigMap", "PodCertificateRequest", "RuntimeClass", "CSIDriver", "Node"]
    name: str
    namespace: str = ""


class GetObject(Question["ObjectState"], frozen=True):
    """The current object, from a watch or read for this question. Answered with ObjectState."""

    ref: ObjectRef
    wait: float = 5.0
    """Seconds to wait at most for the server's first answer."""


class ObjectState(Message, frozen=True):
    """Answer to GetObject."""

    ref: ObjectRef
    body: bytes = b""
    """JSON; empty: there is no object, see reason."""
    reason: str = ""
    """NotFound, Forbidden, Unreachable, Standalone, ..."""
    message: str = ""


class ObjectChanged(Message, frozen=True):
    """To volume_manager: a Secret or ConfigMap that a pod of this node mounts, or a PodCertificateRequest of this node,
    has changed, or is gone. Without the object: many large ones would fill the memory of both."""

    ref: ObjectRef
    coalesce: ClassVar[tuple[str, ...]] = ("ref",)


class GetTrustBundles(Question["TrustBundles"], frozen=True):
    """The ClusterTrustBundles of this name or of this signer (one of the two). Answered with TrustBundles."""

    name: str = ""
    signer: str = ""
    wait: float = 5.0
    """Seconds to wait at most for the server's first answer."""


class TrustBundles(Message, frozen=True):
    """Answer to GetTrustBundles."""

    bodies: list[bytes] = []
    """JSON each, with name, labels and spec."""
    error: str = ""
    """Why they are not known, in the kubelet's words; empty: these are all."""


class TrustBundlesChanged(Message, frozen=True):
    """To volume_manager: a ClusterTrustBundle has changed, has appeared or is gone."""

    coalesce: ClassVar[tuple[str, ...]] = ()


class GetServices(Question["Services"], frozen=True):
    """Services of the namespace, and the API server's own (`kubernetes` in `default`). Answered with Services."""

    namespace: str


class Services(Message, frozen=True):
    synced: bool
    """False: they have not been listed yet; a pod that needs them (enableServiceLinks) waits."""
    services: list[bytes] = []
    """JSON each."""
    master: bytes = b""
    """JSON of default/kubernetes; empty: there is none."""
