"""The pod lifecycle events between two listings of the runtime. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from actors.shared.cri.model import Container, ContainerState, Sandbox


class EventType(StrEnum):
    """The kubelet's names."""

    CONTAINER_STARTED = "ContainerStarted"
    CONTAINER_DIED = "ContainerDied"
    CONTAINER_REMOVED = "ContainerRemoved"
    CONTAINER_CHANGED = "ContainerChanged"


class Event(msgspec.Struct, frozen=True):
    """One container, or sandbox, came to another state."""

    uid: str
    """Of the pod."""
    type: EventType
    id: str
    """Of the container or sandbox."""


class Listed(msgspec.Struct, frozen=True):
    """One container of a listing, or a sandbox as if it were one."""

    uid: str
    """Of the pod."""
    state: ContainerState


Listing = Mapping[str, Listed]
"""By id of the container or sandbox."""

_ENTERED: Final = {
    ContainerState.RUNNING: EventType.CONTAINER_STARTED,
    ContainerState.EXITED: EventType.CONTAINER_DIED,
    ContainerState.CREATED: EventType.CONTAINER_CHANGED,
    ContainerState.UNKNOWN: EventType.CONTAINER_CHANGED,
}


def listing(sandboxes: Iterable[Sandbox], containers: Iterable[Container]) -> Listing:
    """All sandboxes and containers as one map."""
    found = {s.id: Listed(s.pod_uid, ContainerState.RUNNING if s.ready else ContainerState.EXITED) for s in sandboxes}
    found.update({c.id: Listed(c.pod_uid, c.state) for c in containers})
    return found


def events(old: Listing, new: Listing) -> list[Event]:
    """One for each state that was entered; what vanished without having ended has died, and was then removed."""
    found = []
    for key, now in new.items():
        before = old.get(key)
        if before is None or before.state is not now.state:
            found.append(Event(now.uid, _ENTERED[now.state], key))
    for key, before in old.items():
        if key not in new:
            if before.state is not ContainerState.EXITED:
                found.append(Event(before.uid, EventType.CONTAINER_DIED, key))
            found.append(Event(before.uid, EventType.CONTAINER_REMOVED, key))
    return found
