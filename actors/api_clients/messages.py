"""What the clients of the API server are told and asked.

Only these actors talk to the API server (and cert_manager, for the certificates that they need to do so). Everybody
else asks `kube_client` for one request (ApiCall), or for an object that it watches (GetObject).
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

KUBE_CLIENT: Final = ActorName("api_clients/kube_client")
EVENT_CLIENT: Final = ActorName("api_clients/event_client")
HEARTBEAT_CLIENT: Final = ActorName("api_clients/heartbeat_client")


class ApiCall(Question["ApiAnswer"], frozen=True, kw_only=True):
    """One request to the API server with the node's credentials. Answered with ApiAnswer, always.

    Not repeated by kube_client beyond one fresh connection: the caller knows what may be repeated.
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
    """What came back."""

    status: int
    """HTTP status; 0: no answer (server away, no credentials, standalone)."""
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
    """An object that kube_client can keep: Secret, ConfigMap (namespace), RuntimeClass, Node (no namespace)."""

    kind: Literal["Secret", "ConfigMap", "RuntimeClass", "Node"]
    name: str
    namespace: str = ""


class GetObject(Question["ObjectState"], frozen=True):
    """The object as of now, from what is watched, or read for this. Answered with ObjectState."""

    ref: ObjectRef
    wait: float = 5.0
    """Seconds to wait for a first answer of the server at most."""


class ObjectState(Message, frozen=True):
    """Answer to GetObject. Sent by itself, too, when a Secret or ConfigMap that a pod of this node mounts has changed
    (to volume_manager)."""

    ref: ObjectRef
    body: bytes = b""
    """JSON; empty: there is none, see reason."""
    reason: str = ""
    """NotFound, Forbidden, Unreachable, Standalone, ..."""
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("ref",)


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
    """From cert_manager to each client: there is (another) kubeconfig or client certificate; connect anew with it."""

    kubeconfig: str
    """Path; it names the certificate files."""
    version: int
    certificate: str = ""
    """PEM file with certificate and key that take the place of those of the kubeconfig; empty: they do not."""
    coalesce: ClassVar[tuple[str, ...]] = ()


# -- to event_client --------------------------------------------------------------------------------------------------
class RecordEvent(Message, frozen=True, kw_only=True):
    """From any actor: something that a user should know of an object."""

    kind: str
    """Pod or Node."""
    namespace: str = ""
    name: str
    uid: str = ""
    type: Literal["Normal", "Warning"]
    reason: str
    """As in the reference's list of events."""
    message: str
    field: str = ""
    """`spec.containers{name}` for an event of a container."""
    annotations: dict[str, str] = {}
    coalesce: ClassVar[tuple[str, ...]] = ("kind", "namespace", "name", "uid", "reason", "message", "field")


class GetRecentEvents(Question["RecentEvents"], frozen=True):
    """From `supervise events`. Answered with RecentEvents."""


class RecentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of this node, and how often it has been seen; the fields of RecordEvent mean the same."""

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
    """Oldest first, at most the last 500 that differ."""

    events: list[RecentEvent]
    since: float
    """When this event client began, seconds since 1970: what was before is in the log only."""


def node_event(name: str, reason: str, message: str, type: Literal["Normal", "Warning"] = "Normal") -> RecordEvent:
    """The reference gives the node's name as its UID in events, and so finds them again."""
    return RecordEvent(kind="Node", name=name, uid=name, type=type, reason=reason, message=message)


# -- to heartbeat_client ----------------------------------------------------------------------------------------------
class NodeProblem(Message, frozen=True):
    """From any actor, on change and on Hello: why the node is not ready, or that this reason has gone (message '')."""

    source: str
    """Who says so: runtime, storage, shutdown, ..."""
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("source",)


class RuntimeHandlerReport(msgspec.Struct, frozen=True, kw_only=True):
    """One handler of the runtime ('' is the default one), as node.status.runtimeHandlers has it."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeReport(Message, frozen=True, kw_only=True):
    """From pleg, each time it has asked the runtime how it is (every 5 s), on change and on Hello.

    Times are seconds of the monotonic clock, which all processes of a host share; 0: not yet.
    """

    ready_at: float
    """When the runtime last said that it is ready."""
    relisted_at: float
    """When the last look at everything began."""
    runtime_error: str = ""
    """What the runtime says of itself; empty when it is ready, and when it does not answer at all."""
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


class VolumesInUse(Message, frozen=True):
    """From volume_manager, on change and on Hello: unique names of attachable volumes that are mounted or wanted."""

    names: list[str]
    coalesce: ClassVar[tuple[str, ...]] = ()
