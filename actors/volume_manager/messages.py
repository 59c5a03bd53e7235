"""The messages of the volume manager. All orders are idempotent."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.stats.volume_figures import VolumeFigures
from supervision.addresses import ActorName
from supervision.message import Message, Question

VOLUME_MANAGER: Final = ActorName("volume_manager")
FIGURES_SECONDS: Final = 10.0


class MountVolumes(Question["VolumesMounted | VolumesFailed"], frozen=True):
    """From a pod worker: mount all volumes of this pod. Answered with VolumesMounted or VolumesFailed."""

    uid: str
    pod: bytes


class VolumesMounted(Message, frozen=True):
    """Host path of each volume, by the volume's name."""

    uid: str
    paths: dict[str, str]
    groups: list[int] = []
    """Supplemental groups that the pod's processes need for its PersistentVolumes."""


class VolumeEvent(msgspec.Struct, frozen=True):
    """A warning for the pod."""

    reason: str
    text: str


class VolumesFailed(Message, frozen=True):
    """`volumes` could not be mounted (or unmounted). The worker retries."""

    uid: str
    message: str
    volumes: list[str] = []
    unattached: list[str] = []
    """The `volumes` that the attach controller has not attached to the node yet."""
    events: list[VolumeEvent] | None = None
    """Events of the pod; None: one FailedMount with `message`."""
    exhausted: bool = False
    """A volume waits because its driver cannot attach more volumes to the node."""

    @property
    def pod_events(self) -> list[VolumeEvent]:
        return [VolumeEvent("FailedMount", self.message)] if self.events is None else self.events


class SubPath(msgspec.Struct, frozen=True):
    """One volume mount with a subPath (already expanded). `index`: its place in the container's volumeMounts."""

    volume: str
    path: str
    index: int
    read_only: bool = False


class BindSubPaths(Question["SubPathsBound | VolumesFailed"], frozen=True):
    """From a pod worker, before it creates a container. Answered with SubPathsBound or VolumesFailed."""

    uid: str
    container: str
    items: list[SubPath]
    pod: bytes = b""
    """JSON; needed when an earlier incarnation mounted the volumes."""


class SubPathsBound(Message, frozen=True):
    """The host path of each subPath, by its index."""

    uid: str
    container: str
    paths: dict[int, str]


class GetVolumeFigures(Question["DriverFigures"], frozen=True):
    """Asks for the usage of volumes that CSI drivers measure. Answered with DriverFigures within FIGURES_SECONDS."""


class DriverFigures(Message, frozen=True):
    volumes: list[VolumeFigures]


class UnmountVolumes(Question["VolumesUnmounted | VolumesFailed"], frozen=True):
    """From a pod worker, once the pod's containers are removed: unmount and remove its volumes.

    Answered with VolumesUnmounted or VolumesFailed.
    """

    uid: str


class VolumesUnmounted(Message, frozen=True):
    uid: str
