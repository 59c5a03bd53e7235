"""The resources of pods that an earlier incarnation, or a kubelet, recorded."""

from __future__ import annotations

from actors.pod_workers.containers.allocation import StoredAllocation, stored_of
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import ACTUATED, ALLOCATED, PodRecord, RecordError, read
from actors.shared.state_files import StateFiles


class KeptResources:
    """The records in both files, read when the first pod asks. Later changes come from these workers themselves."""

    def __init__(self, files: StateFiles) -> None:
        self._files = files
        self._allocated: dict[str, PodRecord] | None = None
        self._actuated: dict[str, PodRecord] = {}

    def take(self, uid: str, pod: Pod) -> StoredAllocation | None:
        """The record of the pod, which is returned once; None without one."""
        if self._allocated is None:
            self._actuated, self._allocated = self._read(ACTUATED), self._read(ALLOCATED)
        allocated, actuated = self._allocated.pop(uid, None), self._actuated.pop(uid, None)
        return stored_of(pod, allocated, actuated) if allocated is not None else None

    def _read(self, name: str) -> dict[str, PodRecord]:
        """The agent does not start with a damaged file; a file that is damaged later is written again."""
        try:
            return read(self._files.file(name).newest())
        except RecordError as error:
            self._files.log.warning("the resources allocated to pods are unknown, their specs apply: %s", error)
            return {}
