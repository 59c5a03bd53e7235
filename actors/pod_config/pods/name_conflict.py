"""A new pod waits until the old pod with the same name has ended, because both may need the same host ports.

An edited manifest is a new pod, since its UID is a hash of the manifest, and it may belong to another worker. The new
pod waits here until the worker of the old pod no longer has it in its pod inventory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from actors.pod_workers.messages import PodOperation

from .merged_pods import PodCandidate


class NameConflicts:
    """Ending pods by UID, and the new pods that wait for them."""

    def __init__(self) -> None:
        self._present: dict[str, set[str]] = {}
        """The pod inventory of each worker, as UIDs."""
        self._ending: dict[str, PodCandidate] = {}
        self._waiting: dict[str, PodCandidate] = {}
        self._new_endings: list[str] = []

    def is_waiting(self, uid: str) -> bool:
        return uid in self._waiting

    def pass_on(
        self, operations: Iterable[PodOperation], before: Mapping[str, PodCandidate], now: Mapping[str, PodCandidate]
    ) -> list[PodOperation]:
        """The operations that can be sent now; a removal comes before its replacement."""
        passed = []
        for operation in operations:
            uid = operation.uid
            if operation.op == "remove":
                if self._waiting.pop(uid, None) is not None:
                    # it was not sent to a worker yet
                    continue
                if any(uid in uids for uids in self._present.values()):
                    self._ending[uid] = before[uid]
                    self._new_endings.append(uid)
            elif uid in self._waiting or self._is_blocked(now[uid]):
                self._waiting[uid] = now[uid]
                continue
            else:
                # the same pod is back: its worker ends it before it starts it again
                self._ending.pop(uid, None)
            passed.append(operation)
        return passed

    def inventory_reported(self, worker: str, uids: Collection[str]) -> list[PodOperation]:
        """Apply the pod inventory of a worker (ShardPods). Returns the operations that can be sent now."""
        removed = self._present.get(worker, set()) - set(uids)
        self._present[worker] = set(uids)
        for uid in removed:
            self._ending.pop(uid, None)
        return self._release_free()

    def give_up(self, uid: str) -> list[PodOperation]:
        """Stop waiting for this pod to end. Returns the operations that can be sent now."""
        return self._release_free() if self._ending.pop(uid, None) is not None else []

    def newly_ending(self) -> list[str]:
        """The pods that started to end since the last call."""
        ending, self._new_endings = self._new_endings, []
        return ending

    def _is_blocked(self, pod: PodCandidate) -> bool:
        return any(other.full_name == pod.full_name and other.uid != pod.uid for other in self._ending.values())

    def _release_free(self) -> list[PodOperation]:
        free = [uid for uid, pod in self._waiting.items() if not self._is_blocked(pod)]
        return [PodOperation("set", uid, self._waiting.pop(uid).data) for uid in free]
