"""The messages of the clients of the API server.

Only these actors talk to the API server (and cert_manager, for the certificates that they need). Every other actor
asks `kube_client` for one request (ApiCall), or for an object that it watches (GetObject).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

if TYPE_CHECKING:
    from actors.shared.kube.meta import ObjectMeta

KUBE_CLIENT: Final = ActorName("api_clients/kube_client")
EVENT_CLIENT: Final = ActorName("api_clients/event_client")
HEARTBEAT_CLIENT: Final = ActorName("api_clients/heartbeat_client")
MAX_EVENT_TEXT: Final = 1024


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
    """Of a failure: Status.reason (NotFound, Conflict, AlreadyExists, Forbidden, Gone, TooManyRequests, ...), or
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


class CredentialsChanged(Message, frozen=True):
    """From cert_manager to each client: the kubeconfig or client certificate has changed; connect again with it."""

    kubeconfig: str
    """Path; it names the certificate files."""
    version: int
    certificate: str = ""
    """PEM file with certificate and key that replace those of the kubeconfig; empty: none."""
    coalesce: ClassVar[tuple[str, ...]] = ()


# -- to event_client --------------------------------------------------------------------------------------------------
class RecordEvent(Message, frozen=True, kw_only=True):
    """From any actor: an event of an object, for users."""

    kind: str
    """Pod or Node."""
    namespace: str = ""
    name: str
    uid: str = ""
    type: Literal["Normal", "Warning"]
    reason: str
    """As in the kubelet's list of events."""
    message: str
    field: str = ""
    """`spec.containers{name}` for an event of a container."""
    annotations: dict[str, str] = {}
    instance: str = ""
    """Id of the container, for a reason that occurs once in its life: a repeated report by a restarted actor is
    dropped."""
    coalesce: ClassVar[tuple[str, ...]] = ("kind", "namespace", "name", "uid", "reason", "message", "field")


class GetRecentEvents(Question["RecentEvents"], frozen=True):
    """From `supervise events`. Answered with RecentEvents."""


class RecentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of this node with its count; the other fields are those of RecordEvent."""

    kind: str
    namespace: str
    name: str
    uid: str
    field: str
    type: str
    reason: str
    message: str
    count: int
    first: float
    """Seconds since 1970, and so `last`."""
    last: float


class RecentEvents(Message, frozen=True):
    """Oldest first, at most the last 500 different ones."""

    events: list[RecentEvent]
    since: float
    """Start of this event client, seconds since 1970; older events are in the log only."""


def pod_event(
    meta: ObjectMeta, type: Literal["Normal", "Warning"], reason: str, message: str, field: str = "", instance: str = ""
) -> RecordEvent:
    """An event of a pod, or of a container with its `field`. A message is at most as long as the API allows."""
    return RecordEvent(
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        type=type,
        reason=reason,
        message=message[:MAX_EVENT_TEXT],
        field=field,
        instance=instance,
    )


def node_event(name: str, reason: str, message: str, type: Literal["Normal", "Warning"] = "Normal") -> RecordEvent:
    """An event of the Node. As in the kubelet, its UID in events is its name."""
    return RecordEvent(kind="Node", name=name, uid=name, type=type, reason=reason, message=message)


# -- to heartbeat_client ----------------------------------------------------------------------------------------------
class NodeProblem(Message, frozen=True):
    """From any actor, on change and on Hello: a reason why the node is not ready; message '' withdraws it."""

    source: str
    """The reporter: runtime, storage, shutdown, ..."""
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("source",)


class RuntimeHandlerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A handler of the runtime ('': the default one), as in node.status.runtimeHandlers."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeReport(Message, frozen=True, kw_only=True):
    """From pleg, after each status call to the runtime (every 5 s), on change and on Hello.

    Times are seconds of the monotonic clock, which all processes of a host share; 0: not yet.
    """

    ready_at: float
    """When the runtime last reported that it is ready."""
    relisted_at: float
    """The start of the last full relist."""
    runtime_error: str = ""
    """The runtime's own error; empty when it is ready, and when it does not answer."""
    network_error: str = ""
    version: str = ""
    """`containerd://1.6.20`."""
    handlers: list[RuntimeHandlerReport] = []
    supplemental_groups_policy: bool = False
    coalesce: ClassVar[tuple[str, ...]] = ()


class NodePressure(Message, frozen=True):
    """From eviction_manager, on change and on Hello."""

    memory: bool = False
    disk: bool = False
    pids: bool = False
    coalesce: ClassVar[tuple[str, ...]] = ()


class DeviceResources(Message, frozen=True):
    """From device_manager, on change and on Hello: devices of each extended resource that a plugin serves. A resource
    whose plugin did not come back is there with 0."""

    capacity: dict[str, int]
    allocatable: dict[str, int]
    """The healthy ones."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class VolumesInUse(Message, frozen=True):
    """From volume_manager, on change and on Hello: unique names of attachable volumes that are mounted or wanted."""

    names: list[str]
    coalesce: ClassVar[tuple[str, ...]] = ()
