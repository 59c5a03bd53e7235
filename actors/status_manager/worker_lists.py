"""The pods that each worker has listed. Pure."""

from __future__ import annotations

from actors.pod_workers.messages import KnownPods, worker_of


class WorkerLists:
    """UIDs by worker."""

    def __init__(self, workers: int) -> None:
        """`workers`: how many there are."""
        self._workers = workers
        self._uids: dict[str, list[str]] = {}

    @property
    def complete(self) -> bool:
        """Whether every worker has listed its pods."""
        return len(self._uids) >= self._workers

    def put(self, message: KnownPods) -> None:
        self._uids[message.worker] = message.uids

    def uids(self) -> list[str]:
        """All that are listed."""
        return [uid for uids in self._uids.values() for uid in uids]


def is_unlisted(uid: str, message: KnownPods) -> bool:
    """Whether a pod belongs to the worker of this list, and is not in it."""
    return uid not in message.uids and worker_of(uid, message.workers) == message.worker
