"""The messages of the event client: the events of objects, from any actor, and the question for the latest ones."""

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
    """Id of the container, or UID of the pod, for a reason that occurs once in its life: a repeated report by a
    restarted actor is dropped."""
    coalesce: ClassVar[tuple[str, ...]] = ("kind", "namespace", "name", "uid", "reason", "message", "field")

    @property
    def subject(self) -> tuple[str, ...]:
        """The object, without the part of it, and the type: many warnings leave room for the normal events."""
        return (self.kind, self.namespace, self.name, self.uid, self.type)

    @property
    def group(self) -> tuple[str, ...]:
        """The key of similar events: everything except the message."""
        return (*self._object, self.type, self.reason)

    @property
    def identity(self) -> tuple[str, ...]:
        return (*self._object, self.type, self.reason, self.message)

    @property
    def _object(self) -> tuple[str, ...]:
        return (self.kind, self.namespace, self.name, self.uid, self.field)


class TakeEvent(Question["EventTaken"], frozen=True):
    """From an actor that repeats it until it is answered: the event must not be lost with its sender. An event with an
    `instance` counts once."""

    event: RecordEvent


class EventTaken(Message, frozen=True):
    """The event client has the event: it is lost only if that dies before it has written it."""


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
