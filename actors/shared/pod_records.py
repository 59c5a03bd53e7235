"""The kubelet's records of pods' resources: `allocated_pods_state` and `actuated_pods_state`, in the root directory.

    {"data":"<text>","checksum":N}, the text being
    {"entries":{"<pod UID>":{"ContainerResources":{...},"PodLevelResources":null}}}

Allocated resources are those that a pod was admitted with or resized to; actuated resources are those that the runtime
has applied to its containers (KEP-1287). The container manager writes the files, the pod workers read them when they
start. The checksum is computed from Go's text form of `data`. No kubelet reads the two fields that this agent adds:
`ContainerIDs` and `ResizeUnderWay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from actors.shared.fnv import fnv1a_32
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.meta import Quantity
from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError, milli
from actors.shared.restore_error import DamagedStateError, restore_error
from supervision.errors import UNREADABLE
from supervision.state_file import read_private

ALLOCATED: Final = "allocated_pods_state"
ACTUATED: Final = "actuated_pods_state"
RESIZABLE: Final[tuple[str, ...]] = ("cpu", "memory")
POD_LEVEL: Final = ""
"""The key of the pod-level resources, beside the names of containers."""
_MOST_BYTES: Final = 64 << 20
_TYPE: Final = b"(string)"
"""The beginning of Go's text form, before the text itself."""
FIRST: Final = b'{"entries":{'
LAST: Final = b"}}"
EMPTY: Final = b"{}"


class RecordError(DamagedStateError):
    """The file is damaged."""


class PodRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The resources of one pod, with the names of the file's fields."""

    ContainerResources: dict[str, ResourceRequirements] | None = None
    """By name, init containers too."""
    PodLevelResources: ResourceRequirements | UnsetType | None = UNSET
    """None: it has none. Missing from a kubelet before 1.34."""
    ContainerIDs: dict[str, str] | UnsetType = UNSET
    """For actuated resources: the ID of the container with these resources, by container name. A container with another
    ID has the resources that it was created with."""
    ResizeUnderWay: bool | UnsetType = UNSET
    """For allocated resources: the containers may have other resources than recorded."""

    @property
    def containers(self) -> dict[str, ResourceRequirements]:
        return self.ContainerResources or {}


def record_of(pod: Pod, *, under_way: bool = False) -> PodRecord | None:
    """The resources in the pod's spec; None if it has none."""
    containers = {one.name: one.resources for one in (*pod.spec.initContainers, *pod.spec.containers)}
    if pod.spec.resources is None and not any(one.requests or one.limits for one in containers.values()):
        return None
    return PodRecord(
        ContainerResources=containers,
        PodLevelResources=pod.spec.resources,
        ResizeUnderWay=under_way or UNSET,
    )


def with_limits_of_pod(own: ResourceRequirements, whole: ResourceRequirements | None) -> ResourceRequirements:
    """The actuated resources of a container as the kubelet records them: where it has no limit of its own, that of the
    pod, which is in force for it (KEP-2837). A kubelet that does not find it there resizes the container."""
    return own if whole is None else msgspec.structs.replace(own, limits={**_resizable(whole.limits), **own.limits})


def without_limits_of_pod(
    recorded: ResourceRequirements, whole: ResourceRequirements, own: Mapping[str, Quantity]
) -> ResourceRequirements:
    """The actuated resources of a container from such a record, without the limits that are the pod's. `own`: the
    allocated limits of the container."""
    of_pod = _resizable(whole.limits)
    limits = {
        name: amount
        for name, amount in recorded.limits.items()
        if name in own or name not in of_pod or not _is_equal(amount, of_pod[name])
    }
    return msgspec.structs.replace(recorded, limits=limits)


def _is_equal(one: Quantity, other: Quantity) -> bool:
    try:
        return milli(one) == milli(other)
    except QuantityError:
        return one == other


def _resizable(limits: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: limits[name] for name in RESIZABLE if name in limits}


class _Content(msgspec.Struct):
    entries: dict[str, PodRecord] | None = None


class _File(msgspec.Struct):
    data: str
    checksum: int


def decode(raw: bytes) -> dict[str, PodRecord]:
    """The records by pod UID. Raises RecordError."""
    if len(raw) > _MOST_BYTES:
        raise RecordError(f"is larger than {_MOST_BYTES >> 20} MiB")
    try:
        file = msgspec.json.decode(raw, type=_File)
        if checksum(file.data.encode()) != file.checksum:
            raise RecordError("checkpoint is corrupted")
        return msgspec.json.decode(file.data, type=_Content).entries or {}
    except UNREADABLE as error:
        raise RecordError(f"checkpoint is corrupted: {error}") from None


def checksum(data: bytes) -> int:
    """The checksum of the text of `data`."""
    return fnv1a_32(data, fnv1a_32(_TYPE))


def encode(records: Mapping[str, PodRecord]) -> bytes:
    """The file's content."""
    text = RecordText()
    for uid, record in records.items():
        text.put(uid, record)
    return text.content()


class RecordText:
    """The text of a file, kept together with its checksum so far: a new pod costs only its own part."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        self._sums: dict[str, int] = {}
        """The checksum of the text up to the end of each member; missing for changed members and all after them."""

    def put(self, uid: str, record: PodRecord) -> None:
        """A changed member moves to the end."""
        self.drop(uid)
        self._members[uid] = msgspec.json.encode(uid) + b":" + msgspec.json.encode(record)

    def drop(self, uid: str) -> None:
        if uid not in self._members:
            return
        behind = list(self._members)
        for other in behind[behind.index(uid) :]:
            self._sums.pop(other, None)
        del self._members[uid]

    def content(self) -> bytes:
        """The file's content."""
        if not self._members:
            return _encode(EMPTY, checksum(EMPTY))
        found, before = checksum(FIRST), b""
        for uid, member in self._members.items():
            if uid not in self._sums:
                self._sums[uid] = fnv1a_32(before + member, found)
            found, before = self._sums[uid], b","
        return _encode(FIRST + b",".join(self._members.values()) + LAST, fnv1a_32(LAST, found))


def _encode(data: bytes, number: int) -> bytes:
    return msgspec.json.encode(_File(data.decode(), number))


def read(path: Path) -> dict[str, PodRecord]:
    """The records of one of the two files; none if there is no file. Raises RecordError, with the kubelet's words."""
    try:
        return decode(read_private(path))
    except FileNotFoundError:
        return {}
    except (RecordError, OSError) as error:
        raise RecordError(*restore_error(path, error, "pod resource information checkpoint file")) from None
