"""A pod as the status manager tracks it: an immutable value, replaced with each change."""

from __future__ import annotations

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES, full_name, is_static

from ..containers.container_status_input import Readiness
from ..messages import PodObserved
from ..status.pod_status_input import ENDED
from .api_pods import ApiPod
from .patch import Fields


class TrackedPod(msgspec.Struct, frozen=True):
    """A worker's report of a pod, and the resulting status."""

    observed: PodObserved
    """The newest report of its worker; `pod` and `runtime` of an earlier one where the newest has none."""
    pod: Pod
    """`observed.pod`, decoded."""
    first_seen: float = 0.0
    """When a worker reported it first, seconds since 1970."""
    status: PodStatus | None = None
    has_base: bool = False
    """The status continues its base: the status that the API server had when this agent started."""
    base_version: str = ""
    """The resource version of the base; '' for one that is not from the API server."""
    altered_by_server: Fields = {}
    """Fields that the server stored differently than written (a quantity in another notation); not written again."""

    @property
    def uid(self) -> str:
        return self.observed.uid

    @property
    def full_name(self) -> str:
        return full_name(self.pod)

    @property
    def static(self) -> bool:
        return is_static(self.pod)

    @property
    def terminal(self) -> bool:
        return self.status is not None and self.status.phase in TERMINAL_PHASES

    @property
    def deletable(self) -> bool:
        """Whether nothing of the pod is left on the node, and its status shows how it ended."""
        return self.observed.finished and self.terminal

    def readiness(self, name: str, container_id: str) -> Readiness | None:
        """The readiness of a running container in the status; None: the status does not have this container."""
        status = self.status
        for each in (*status.containerStatuses, *status.initContainerStatuses) if status is not None else ():
            if each.name == name and each.state.running and each.containerID.endswith(f"://{container_id}"):
                return Readiness(bool(each.started), each.ready)
        return None


def tracked(report: PodObserved, now: float) -> TrackedPod:
    """A pod that is reported for the first time."""
    return TrackedPod(report, codec.decode_pod(report.pod), now)


def reported(before: TrackedPod, report: PodObserved) -> TrackedPod | None:
    """The pod after another report; None: the report is based on an older state of the runtime."""
    known = before.observed
    if not report.pod:
        report = msgspec.structs.replace(report, pod=known.pod)
    if report.runtime is None:
        report = msgspec.structs.replace(report, runtime=known.runtime)
    elif known.runtime is not None and report.runtime.at < known.runtime.at:
        return None
    pod = before.pod if report.pod == known.pod else codec.decode_pod(report.pod)
    return msgspec.structs.replace(before, observed=report, pod=pod)


def with_base(tracked: TrackedPod, api_pod: ApiPod | None) -> TrackedPod:
    """The pod with its status taken from the API server: `api_pod` is what the synced API copy has of it.

    Once; but until the worker has read the runtime, each newer version is taken: a list may be older than what the
    incarnation before this one has written (API concepts, resource versions).
    """
    if api_pod is None:
        return tracked if tracked.has_base else msgspec.structs.replace(tracked, has_base=tracked.static)
    version = api_pod.metadata.resourceVersion
    newer = bool(tracked.base_version) and tracked.base_version != version
    if tracked.has_base and not (newer and tracked.observed.runtime is None):
        return tracked
    # a finished static pod may run again: its old mirror is no base
    over = api_pod.status.phase in TERMINAL_PHASES and tracked.observed.worker_phase not in ENDED
    if tracked.static and over:
        return tracked
    return msgspec.structs.replace(tracked, has_base=True, base_version=version, status=api_pod.status)


def last_status(tracked: TrackedPod, api_pod: ApiPod | None) -> PodStatus | None:
    """The status to continue. A terminal phase that another client wrote at the API server is final."""
    status = tracked.status
    if api_pod is None or tracked.static or status is None or status.phase in TERMINAL_PHASES:
        return status
    end = api_pod.status
    if end.phase not in TERMINAL_PHASES:
        return status
    return msgspec.structs.replace(status, phase=end.phase, reason=end.reason, message=end.message)
