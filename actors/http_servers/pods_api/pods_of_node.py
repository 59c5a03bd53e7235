"""The pods of this node as the status manager has told them, and what a change of them is to a watch. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

import msgspec

DELETED: Final = "DELETED"


class WatchedChange(msgspec.Struct, frozen=True):
    """One change."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    pod: bytes
    """JSON; of a pod that is gone name, namespace and UID alone."""


class PodsOfNode:
    """By UID."""

    def __init__(self) -> None:
        self._pods: dict[str, bytes] = {}
        self.complete = False
        """Every worker has listed its pods: none is missing."""

    def get(self, uid: str) -> bytes | None:
        return self._pods.get(uid)

    def all(self) -> list[bytes]:
        """In the order of their UIDs."""
        return [self._pods[uid] for uid in sorted(self._pods)]

    def put(self, uid: str, pod: bytes) -> WatchedChange | None:
        """`pod`: JSON; empty: it is gone. None: nothing has changed."""
        before = self._pods.get(uid)
        if not pod:
            return None if before is None else self._drop(uid)
        if pod == before:
            return None
        self._pods[uid] = pod
        return WatchedChange("ADDED" if before is None else "MODIFIED", pod)

    def listed(self, uids: Collection[str]) -> list[WatchedChange]:
        """Those that are not listed are gone."""
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
