"""Keeps the records of allocated and actuated resources (`shared/pod_records`). A file is replaced before its new
content is used. As in the kubelet, a pod that is gone is removed from it only with the next change.
"""

from __future__ import annotations

from msgspec import UNSET

from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import with_resources
from actors.shared.pod_records import ACTUATED, ALLOCATED, PodRecord, RecordText, read, record_of, with_limits_of_pod
from actors.shared.state_files import CopiedFile, StateFiles

from ..messages import ActuatedResources


class PodResourceRecords:
    """The files of allocated and of actuated resources."""

    def __init__(self, files: StateFiles) -> None:
        """Raises RecordError if a file is damaged, OSError."""
        self._allocated = _RecordFile(files.file(ALLOCATED))
        self._actuated = _RecordFile(files.file(ACTUATED))

    def allocate(self, uid: str, pod: Pod, *, resized: bool = False) -> None:
        """Record the pod's allocated resources. `resized`: its containers do not have them yet. If it raises OSError,
        the record stays unchanged."""
        known = self._allocated.records.get(uid)
        under_way = resized or (known is not None and known.ResizeUnderWay is True)
        record = record_of(pod, under_way=under_way)
        if record is None:
            self._allocated.drop(uid)
        else:
            self._allocated.put(uid, record)

    def actuate(self, order: ActuatedResources) -> None:
        """Raises OSError."""
        before = self._actuated.records.get(order.uid, PodRecord())
        ids = before.ContainerIDs if before.ContainerIDs is not UNSET else {}
        record = PodRecord(
            ContainerResources={
                **before.containers,
                **{name: with_limits_of_pod(one.resources, order.pod) for name, one in order.containers.items()},
            },
            PodLevelResources=order.pod,
            ContainerIDs={**ids, **{name: one.id for name, one in order.containers.items()}},
        )
        self._actuated.put(order.uid, record)
        known = self._allocated.records.get(order.uid)
        if order.complete and known is not None and known.ResizeUnderWay is True:
            self._allocated.put(order.uid, _without_resize(known))

    def still_has(self, uid: str, pod: Pod) -> Pod:
        """The pod with the resources that its containers may still have: while a resize is under way, the actuated
        ones."""
        allocated, actuated = self._allocated.records.get(uid), self._actuated.records.get(uid)
        if allocated is None or allocated.ResizeUnderWay is not True or actuated is None:
            return pod
        return _recorded(pod, actuated)

    def forget(self, uid: str) -> None:
        """Forget the pod, which is gone."""
        self._allocated.drop(uid)
        self._actuated.drop(uid)

    def uids(self) -> set[str]:
        """The UIDs of all pods with a record."""
        return {*self._allocated.records, *self._actuated.records}


def _recorded(pod: Pod, record: PodRecord) -> Pod:
    """A container that the record does not name keeps its resources, and so does the pod as a whole."""
    known, whole = record.containers, record.PodLevelResources
    of_pod = whole if isinstance(whole, ResourceRequirements) else pod.spec.resources
    return with_resources(pod, lambda one: known.get(one.name, one.resources), of_pod)


def _without_resize(record: PodRecord) -> PodRecord:
    return PodRecord(
        ContainerResources=record.ContainerResources,
        PodLevelResources=record.PodLevelResources,
        ResizeUnderWay=UNSET,
    )


class _RecordFile:
    def __init__(self, file: CopiedFile) -> None:
        file.prepare()
        self.records = read(file.newest())
        self._file, self._text = file, RecordText()
        for uid, record in self.records.items():
            self._text.put(uid, record)

    def put(self, uid: str, record: PodRecord) -> None:
        """Raises OSError."""
        known = self.records.get(uid)
        if record == known:
            return
        self._text.put(uid, record)
        try:
            self._file.write(self._text.content())
        except OSError:
            self._text.drop(uid)
            if known is not None:
                self._text.put(uid, known)
            raise
        self.records[uid] = record

    def drop(self, uid: str) -> None:
        if self.records.pop(uid, None) is not None:
            self._text.drop(uid)
