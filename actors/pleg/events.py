"""The pod lifecycle events between two listings of the runtime. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox


class EventType(StrEnum):
    """The kubelet's names."""

    CONTAINER_STARTED = "ContainerStarted"
    CONTAINER_DIED = "ContainerDied"
    CONTAINER_REMOVED = "ContainerRemoved"
    CONTAINER_CHANGED = "ContainerChanged"


class PodLifecycleEvent(msgspec.Struct, frozen=True):
    """A container, or sandbox, entered another state."""

    uid: str
    """The UID of the pod."""
    type: EventType
    id: str
    """The ID of the container or sandbox."""


class ListedContainer(msgspec.Struct, frozen=True):
    """A container of a listing, or a sandbox in the same form."""

    uid: str
    """The UID of the pod."""
    state: CriContainerState


Listing = Mapping[str, ListedContainer]
"""By id of the container or sandbox."""

_ENTERED: Final = {
    CriContainerState.RUNNING: EventType.CONTAINER_STARTED,
    CriContainerState.EXITED: EventType.CONTAINER_DIED,
    CriContainerState.CREATED: EventType.CONTAINER_CHANGED,
    CriContainerState.UNKNOWN: EventType.CONTAINER_CHANGED,
}


def listing(sandboxes: Iterable[Sandbox], containers: Iterable[CriContainer]) -> Listing:
    """All sandboxes and containers as one map."""
    found = {
        s.id: ListedContainer(s.pod_uid, CriContainerState.RUNNING if s.ready else CriContainerState.EXITED)
        for s in sandboxes
    }
    found.update({c.id: ListedContainer(c.pod_uid, c.state) for c in containers})
    return found


def events(old: Listing, new: Listing) -> list[PodLifecycleEvent]:
    """An event for each entered state; a container that vanished without an end has died and was removed."""
    found = []
    for key, now in new.items():
        before = old.get(key)
        if before is None or before.state is not now.state:
            found.append(PodLifecycleEvent(now.uid, _ENTERED[now.state], key))
    for key, before in old.items():
        if key not in new:
            if before.state is not CriContainerState.EXITED:
                found.append(PodLifecycleEvent(before.uid, EventType.CONTAINER_DIED, key))
            found.append(PodLifecycleEvent(before.uid, EventType.CONTAINER_REMOVED, key))
    return found
