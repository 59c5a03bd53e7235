"""The messages of the event client: events of objects, told by any actor, and what was told lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

if TYPE_CHECKING:
    from actors.shared.kube.meta import ObjectMeta

EVENT_CLIENT: Final = ActorName("api_clients/event_client")
MAX_EVENT_TEXT: Final = 1024


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
