"""What is known of the pods: as their workers see them, and as the API server has them; and what to do about it.

`PodTable.step` is the decision, pure: the next thing to do at the API server for one key. A key is the UID of a pod of
ours, or of a mirror pod that has none.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.shared.kube.pod import Pod, PodStatus
from actors.shared.kube.pods import full_name, is_static

from .api_pods import ApiPod, ApiPods
from .backlog import CHANGE, TRANSITION
from .container_status import Readiness
from .messages import PodObserved
from .mirror import is_mirror_of
from .patch import Fields, is_transition, status_patch
from .phase import TERMINAL


class Patch(msgspec.Struct, frozen=True):
    """Write these fields of the status of this pod."""

    pod: ApiPod
    fields: Fields
    last: bool = False
    """The pod is deleted after it."""

    @property
    def priority(self) -> int:
        return TRANSITION if self.last or is_transition(self.fields, self.pod.status) else CHANGE


class Delete(msgspec.Struct, frozen=True):
    """Have the API server forget this pod: it has ended, or it is a mirror that shows nothing."""

    pod: ApiPod

    @property
    def priority(self) -> int:
        return TRANSITION


class Create(msgspec.Struct, frozen=True):
    """Make the mirror of this static pod."""

    static: Known

    @property
    def priority(self) -> int:
        return TRANSITION


Step = Patch | Delete | Create


class Known:
    """One pod that a worker has told of."""

    def __init__(self, seen: PodObserved, pod: Pod, since: float = 0.0) -> None:
        """`since`: when it was first told of, seconds since 1970."""
        self.seen, self.pod, self.since = seen, pod, since
        self.status: PodStatus | None = None
        self.based = False
        """The status goes on from what the API server had when this agent began."""
        self.changed_at: float | None = None
        """When the status became another than the API server's, on the clock of the writer."""
        self.tolerated: Fields = {}
        """What the server did not take over from an accepted write (a quantity that it writes another way)."""

    @property
    def uid(self) -> str:
        return self.seen.uid

    @property
    def full_name(self) -> str:
        return full_name(self.pod)

    def readiness(self, name: str, container_id: str) -> Readiness | None:
        """Of a container that runs, as it was reported before this agent began."""
        status = self.status
        for each in (*status.containerStatuses, *status.initContainerStatuses) if status is not None else ():
            if each.name == name and each.state.running and each.containerID.endswith(f"://{container_id}"):
                return Readiness(bool(each.started), each.ready)
        return None

    @property
    def static(self) -> bool:
        return is_static(self.pod)

    @property
    def deletable(self) -> bool:
        """All of it is gone from the node."""
        return self.seen.finished and self.status is not None and self.status.phase in TERMINAL


class PodTable:
    """All pods, theirs and ours."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.api = ApiPods()
        self.orphans: set[str] = set()
        """UIDs of mirror pods that are known to show nothing: their static pod is gone."""
        self._asked: dict[str, str] = {}
        """UID and version of pods that the API server was asked to delete, and still has (finalizers)."""

    def sorted(self) -> Iterator[Known]:
        yield from sorted(self.known.values(), key=lambda known: known.full_name)

    def find(self, uid: str, namespace: str, name: str) -> Known | None:
        """By its UID or that of its mirror, else by its name; of two static ones of a name the one not ended."""
        mirror = self.api.get(uid)
        known = self.known.get(uid)
        if known is not None or (mirror is None and not name):
            return known
        wanted = mirror.full_name if mirror is not None else f"{name}_{namespace}"
        found = [known for known in self.known.values() if known.full_name == wanted]
        return min(found, key=lambda known: (known.seen.removed, known.uid), default=None)

    def statics(self, name: str) -> list[Known]:
        """The static pods of that full name: an edited one is there twice while the older one ends."""
        return [known for known in self.known.values() if known.static and known.full_name == name]

    def keys(self, pod: ApiPod) -> list[str]:
        """Whom a change of this object of the API server concerns."""
        if not pod.is_mirror:
            return [pod.uid]
        return [pod.uid, *(known.uid for known in self.statics(pod.full_name))]

    def theirs(self, known: Known) -> ApiPod | None:
        """The API server's object that has this pod's status: its own, or its mirror."""
        if not known.static:
            return self.api.get(known.uid)
        mirror = self.api.mirror(known.full_name)
        if mirror is None or not is_mirror_of(mirror, known.pod):
            return None
        # a static pod that was over may run again, after a reboot: a status cannot go back, a new mirror can
        again = mirror.status.phase in TERMINAL and known.seen.worker_phase == "running"
        return None if again else mirror

    def owner(self, pod: ApiPod) -> Known | None:
        """The pod of ours whose status this object has."""
        owners = (self.known.get(key) for key in self.keys(pod))
        return next((known for known in owners if known is not None and self.theirs(known) == pod), None)

    def asked_to_delete(self, pod: ApiPod, left: ApiPod | None) -> None:
        """The server has accepted to delete it; `left` is what it has of it now. A mirror is made anew at once."""
        if pod.is_mirror:
            self.api.drop(pod.uid)
        elif left is not None:
            self._asked[pod.uid] = left.metadata.resourceVersion

    def ask_again(self) -> None:
        """What the server was asked long ago, and has not done, it may be asked again."""
        self._asked.clear()

    def step(self, key: str) -> Step | None:
        """What is to be done next; nothing before the API server has said what it has."""
        step = self._step(key)
        if isinstance(step, Delete) and self._asked.get(key) == step.pod.metadata.resourceVersion:
            return None
        return step

    def _step(self, key: str) -> Step | None:
        if not self.api.synced:
            return None
        known = self.known.get(key)
        if known is None:
            orphan = self.api.get(key)
            return Delete(orphan) if orphan is not None and self._is_orphan(orphan) else None
        theirs = self.theirs(known)
        if theirs is None:
            return self._mirror_step(known) if known.static else None
        return _status_step(known, theirs)

    def _is_orphan(self, pod: ApiPod) -> bool:
        return pod.is_mirror and pod.uid in self.orphans and not self.statics(pod.full_name)

    def _mirror_step(self, known: Known) -> Step | None:
        """There is no mirror, or one of another static pod of the same name."""
        if known.seen.removed or known.seen.worker_phase == "terminating":
            return None
        mirror = self.api.mirror(known.full_name)
        if mirror is None:
            return Create(known)
        older = [other for other in self.statics(known.full_name) if other is not known]
        if any(is_mirror_of(mirror, other.pod) for other in older):
            return None  # an edited manifest: the mirror shows the end of the one before
        return Delete(mirror)


def _status_step(known: Known, theirs: ApiPod) -> Step | None:
    if known.status is None or not known.based:
        return None
    fields = status_patch(known.status, theirs.status)
    going = theirs.metadata.deletionTimestamp is not None and not theirs.is_mirror and known.deletable
    if fields and fields != known.tolerated:
        return Patch(theirs, fields, last=going)
    if going and theirs.status.phase in TERMINAL:
        return Delete(theirs)
    return None
