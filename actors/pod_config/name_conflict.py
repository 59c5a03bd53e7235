"""Two pods of one name: the new one waits until the old one has ended, as both may want the same ports of the host.

An edited manifest is another pod (its UID is of its content), perhaps at another worker. So the new one is held here
until the old one's worker no longer lists it among the pods that may have anything on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from actors.pod_workers.messages import PodOperation

from .merge import Candidate


class NameConflicts:
    """Pods that are ending, by UID, and those held for them."""

    def __init__(self) -> None:
        self._present: dict[str, set[str]] = {}
        """By worker, the UIDs of pods that may have something on the node."""
        self._ending: dict[str, Candidate] = {}
        self._waiting: dict[str, Candidate] = {}
        self._new: list[str] = []

    def is_held(self, uid: str) -> bool:
        return uid in self._waiting

    def pass_on(
        self, operations: Iterable[PodOperation], before: Mapping[str, Candidate], now: Mapping[str, Candidate]
    ) -> list[PodOperation]:
        """The operations that may be sent now; a removal comes before its replacement."""
        passed = []
        for operation in operations:
            uid = operation.uid
            if operation.op == "remove":
                if self._waiting.pop(uid, None) is not None:
                    # no worker has it yet
                    continue
                if any(uid in uids for uids in self._present.values()):
                    self._ending[uid] = before[uid]
                    self._new.append(uid)
            elif uid in self._waiting or self._blocked(now[uid]):
                self._waiting[uid] = now[uid]
                continue
            else:
                # the same pod again: its worker ends it first
                self._ending.pop(uid, None)
            passed.append(operation)
        return passed

    def inventory_reported(self, worker: str, uids: Collection[str]) -> list[PodOperation]:
        """The worker's list (KnownPods): what may start now."""
        removed = self._present.get(worker, set()) - set(uids)
        self._present[worker] = set(uids)
        for uid in removed:
            self._ending.pop(uid, None)
        return self._released()

    def give_up(self, uid: str) -> list[PodOperation]:
        """Wait no longer for this pod to end: what may start now."""
        return self._released() if self._ending.pop(uid, None) is not None else []

    def newly_ending(self) -> list[str]:
        """The pods that others are held for since this was asked last."""
        found, self._new = self._new, []
        return found

    def _blocked(self, pod: Candidate) -> bool:
        return any(other.full_name == pod.full_name and other.uid != pod.uid for other in self._ending.values())

    def _released(self) -> list[PodOperation]:
        free = [uid for uid, pod in self._waiting.items() if not self._blocked(pod)]
        return [PodOperation("set", uid, self._waiting.pop(uid).data) for uid in free]
