"""What happened between two looks at the runtime. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from actors.shared.cri.model import Container, ContainerState, Sandbox


class EventType(StrEnum):
    """Names of the reference."""

    CONTAINER_STARTED = "ContainerStarted"
    CONTAINER_DIED = "ContainerDied"
    CONTAINER_REMOVED = "ContainerRemoved"
    CONTAINER_CHANGED = "ContainerChanged"


class Event(msgspec.Struct, frozen=True):
    uid: str
    type: EventType
    id: str


class Listed(msgspec.Struct, frozen=True):
    """One thing of a listing: a container, or a sandbox as if it were one."""

    uid: str
    state: ContainerState


World = dict[str, Listed]
"""By id."""

_ENTERED = {
    ContainerState.RUNNING: EventType.CONTAINER_STARTED,
    ContainerState.EXITED: EventType.CONTAINER_DIED,
    ContainerState.CREATED: EventType.CONTAINER_CHANGED,
    ContainerState.UNKNOWN: EventType.CONTAINER_CHANGED,
}


def world(sandboxes: Iterable[Sandbox], containers: Iterable[Container]) -> World:
    """A listing as one map."""
    found = {s.id: Listed(s.pod_uid, ContainerState.RUNNING if s.ready else ContainerState.EXITED) for s in sandboxes}
    found.update({c.id: Listed(c.pod_uid, c.state) for c in containers})
    return found


def events(old: World, new: World) -> list[Event]:
    """What became of everything that is in either; what vanished while it ran has died, then been removed."""
    found = []
    for thing, now in new.items():
        before = old.get(thing)
        if before is None or before.state is not now.state:
            found.append(Event(now.uid, _ENTERED[now.state], thing))
    for thing, before in old.items():
        if thing not in new:
            if before.state is not ContainerState.EXITED:
                found.append(Event(before.uid, EventType.CONTAINER_DIED, thing))
            found.append(Event(before.uid, EventType.CONTAINER_REMOVED, thing))
    return found
