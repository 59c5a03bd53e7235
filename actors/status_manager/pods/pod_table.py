"""All pods: those that the workers have reported, and the API copy."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from actors.shared.kube.pods import TERMINAL_PHASES

from .api_pods import ApiPod, ApiPods
from .mirror import is_mirror_of
from .patch import Fields
from .tracked_pod import TrackedPod


class PodTable:
    """Relates static pods, mirror pods and pods of the API; `steps` decides the next step of each."""

    def __init__(self) -> None:
        self.api = ApiPods()
        self._tracked: dict[str, TrackedPod] = {}
        self._orphans: set[str] = set()
        """UIDs of mirror pods whose static pod is gone."""
        self._alone: set[str] = set()
        """UIDs of mirror pods that had no static pod at the last check for orphans."""
        self._deletions: dict[str, str] = {}
        """UID and version of pods whose deletion the API server has accepted, and which it still has (finalizers)."""

    # -- the pods that workers report -------------------------------------------------------------------------------
    def get(self, uid: str) -> TrackedPod | None:
        return self._tracked.get(uid)

    def put(self, tracked: TrackedPod) -> None:
        self._tracked[tracked.uid] = tracked

    def forget(self, uid: str) -> TrackedPod | None:
        return self._tracked.pop(uid, None)

    def uids(self) -> list[str]:
        return list(self._tracked)

    def all(self) -> list[TrackedPod]:
        """All pods by full name."""
        return sorted(self._tracked.values(), key=lambda tracked: tracked.full_name)

    def statics(self, full_name: str) -> list[TrackedPod]:
        """The static pods of that name. There are two while the older version of an edited manifest terminates."""
        return [tracked for tracked in self._tracked.values() if tracked.static and tracked.full_name == full_name]

    def find(self, uid: str, namespace: str, name: str) -> TrackedPod | None:
        """The pod with this UID, or whose mirror has it, else with this name. Of two static pods with one name, the one
        that has not ended.
        """
        mirror = self.api.get(uid)
        tracked = self._tracked.get(uid)
        if tracked is not None or (mirror is None and not name):
            return tracked
        wanted = mirror.full_name if mirror is not None else f"{name}_{namespace}"
        found = [tracked for tracked in self._tracked.values() if tracked.full_name == wanted]
        return min(found, key=lambda tracked: (tracked.observed.removed, tracked.uid), default=None)

    def server_altered(self, uid: str, fields: Fields) -> None:
        """The server has stored these fields of a written status differently."""
        tracked = self._tracked.get(uid)
        if tracked is not None and tracked.altered_by_server != fields:
            self._tracked[uid] = msgspec.structs.replace(tracked, altered_by_server=fields)

    # -- static and mirror pods -------------------------------------------------------------------------------------
    def api_pod(self, tracked: TrackedPod) -> ApiPod | None:
        """The API server's object with this pod's status: the pod itself, or the mirror of a static pod."""
        if not tracked.static:
            return self.api.get(tracked.uid)
        mirror = self.api.mirror(tracked.full_name)
        if mirror is None or not is_mirror_of(mirror, tracked.pod):
            return None
        # a finished static pod may run again after a reboot: it needs a new mirror, because a status cannot go back
        again = mirror.status.phase in TERMINAL_PHASES and tracked.observed.worker_phase == "running"
        return None if again else mirror

    def tracked_of(self, pod: ApiPod) -> TrackedPod | None:
        """The pod whose status this object of the API server has."""
        candidates = (self._tracked.get(key) for key in self.keys(pod))
        return next((each for each in candidates if each is not None and self.api_pod(each) == pod), None)

    def keys(self, pod: ApiPod) -> list[str]:
        """The keys of the pods that a change of this object concerns."""
        if not pod.is_mirror:
            return [pod.uid]
        return [pod.uid, *(tracked.uid for tracked in self.statics(pod.full_name))]

    # -- mirrors without a static pod -------------------------------------------------------------------------------
    def is_orphan(self, pod: ApiPod) -> bool:
        return pod.is_mirror and pod.uid in self._orphans and not self.statics(pod.full_name)

    def orphans(self) -> Collection[str]:
        return frozenset(self._orphans)

    def add_orphan(self, mirror: ApiPod) -> None:
        self._orphans.add(mirror.uid)

    def find_orphans(self) -> None:
        """The orphaned mirrors: those that have no static pod in two checks in a row."""
        alone = {mirror.uid for mirror in self.api.mirrors() if not self.statics(mirror.full_name)}
        known = {uid for uid in self._orphans if self.api.get(uid) is not None}
        self._orphans, self._alone = known | (alone & self._alone), alone

    # -- deletions --------------------------------------------------------------------------------------------------
    def deletion_accepted(self, pod: ApiPod) -> bool:
        return self._deletions.get(pod.uid) == pod.metadata.resourceVersion

    def accept_deletion(self, pod: ApiPod, left: ApiPod | None) -> None:
        """The server has accepted the deletion of the pod; `left` is the pod if the server still has it. A mirror's
        name is free at once.
        """
        if pod.is_mirror:
            self.api.drop(pod.uid)
        elif left is not None:
            self._deletions[pod.uid] = left.metadata.resourceVersion

    def forget_deletions(self) -> None:
        """Forget the accepted deletions: a pod that the server still has is deleted again."""
        self._deletions.clear()
