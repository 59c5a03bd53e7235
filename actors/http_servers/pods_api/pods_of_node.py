"""The pods of this node from the status manager, and their changes as a watch sees them. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

import msgspec

DELETED: Final = "DELETED"


class WatchedChange(msgspec.Struct, frozen=True):
    """A change."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    pod: bytes
    """JSON; of a pod that is gone, only name, namespace and UID."""


class PodsOfNode:
    """The pods of this node, by UID."""

    def __init__(self) -> None:
        self._pods: dict[str, bytes] = {}
        self.complete = False
        """Every worker has listed its pods: none is missing."""

    def get(self, uid: str) -> bytes | None:
        return self._pods.get(uid)

    def all(self) -> list[bytes]:
        """All pods, in the order of their UIDs."""
        return [self._pods[uid] for uid in sorted(self._pods)]

    def put(self, uid: str, pod: bytes) -> WatchedChange | None:
        """Store a pod (JSON; empty: it is gone). Returns the change; None: nothing has changed."""
        before = self._pods.get(uid)
        if not pod:
            return None if before is None else self._drop(uid)
        if pod == before:
            return None
        self._pods[uid] = pod
        return WatchedChange("ADDED" if before is None else "MODIFIED", pod)

    def listed(self, uids: Collection[str]) -> list[WatchedChange]:
        """Drop the pods that are not listed."""
        self.complete = True
        return [self._drop(uid) for uid in sorted(self._pods) if uid not in uids]

    def _drop(self, uid: str) -> WatchedChange:
        found = msgspec.json.decode(self._pods.pop(uid), type=_Named)
        return WatchedChange(DELETED, msgspec.json.encode(found))


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
