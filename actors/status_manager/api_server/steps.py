"""The next step at the API server for one pod: write its status, delete it, create its mirror pod, or nothing.

Pure. A key is the UID of a tracked pod, or of a mirror pod without one.
"""

from __future__ import annotations

import msgspec

from actors.shared.kube.pods import TERMINAL_PHASES

from ..pods.api_pods import ApiPod
from ..pods.mirror import is_mirror_of
from ..pods.patch import Fields, is_transition, status_patch
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod
from .backlog import CHANGE, TRANSITION


class PatchStatus(msgspec.Struct, frozen=True):
    """Write these fields of the pod's status."""

    pod: ApiPod
    fields: Fields
    last: bool = False
    """The last status: the pod is deleted afterwards."""
    once: bool = False
    """No regular container starts again after its end."""

    @property
    def priority(self) -> int:
        awaited = self.last or is_transition(self.fields, self.pod.status, once=self.once)
        return TRANSITION if awaited else CHANGE


class DeletePod(msgspec.Struct, frozen=True):
    """Delete the pod at the API server: it has ended, or it is a mirror without a static pod."""

    pod: ApiPod

    @property
    def priority(self) -> int:
        return TRANSITION


class CreateMirror(msgspec.Struct, frozen=True):
    """Create the mirror pod of this static pod."""

    static: TrackedPod

    @property
    def priority(self) -> int:
        return TRANSITION


Step = PatchStatus | DeletePod | CreateMirror


def next_step(table: PodTable, key: str) -> Step | None:
    """The step. None: nothing to do, also before the API server has listed its pods and after an accepted deletion."""
    if not table.api.synced:
        return None
    step = _step(table, key)
    if isinstance(step, DeletePod) and table.deletion_accepted(step.pod):
        return None
    return step


def _step(table: PodTable, key: str) -> Step | None:
    tracked = table.get(key)
    if tracked is None:
        mirror = table.api.get(key)
        return DeletePod(mirror) if mirror is not None and table.is_orphan(mirror) else None
    api_pod = table.api_pod(tracked)
    if api_pod is not None:
        return _status_step(tracked, api_pod)
    return _mirror_step(table, tracked) if tracked.static else None


def _status_step(tracked: TrackedPod, api_pod: ApiPod) -> Step | None:
    if tracked.status is None or not tracked.has_base:
        return None
    fields = status_patch(tracked.status, api_pod.status)
    ends = api_pod.metadata.deletionTimestamp is not None and not api_pod.is_mirror and tracked.deletable
    if fields and fields != tracked.altered_by_server:
        spec = tracked.pod.spec
        once = spec.restartPolicy == "Never" and not any(each.restartPolicy for each in spec.containers)
        return PatchStatus(api_pod, fields, last=ends, once=once)
    if ends and api_pod.status.phase in TERMINAL_PHASES:
        return DeletePod(api_pod)
    return None


def _mirror_step(table: PodTable, static: TrackedPod) -> Step | None:
    """The step of a static pod without a mirror, or whose mirror belongs to another static pod."""
    if static.observed.removed or static.observed.worker_phase == "terminating":
        return None
    mirror = table.api.mirror(static.full_name)
    if mirror is None:
        return CreateMirror(static)
    others = [other for other in table.statics(static.full_name) if other.uid != static.uid]
    if any(is_mirror_of(mirror, other.pod) for other in others):
        return None  # an edited manifest: the mirror still shows the end of the old pod
    return DeletePod(mirror)
