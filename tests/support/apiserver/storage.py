"""What etcd is to the real one: objects, one resource version for all, a history that watches start from.

Kept in a file of JSON lines, one for each change, so that a server that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import NamedTuple

import msgspec

from .objects import Obj

Key = tuple[str, str, str]
"""Qualified plural, namespace ("" for none), name."""


class Change(NamedTuple):
    revision: int
    kind: str
    """ADDED, MODIFIED, DELETED."""
    key: Key
    obj: Obj
    before: Obj | None


class Subscription:
    """Changes of one collection from now on."""

    def __init__(self, plural: str, *, of_client: bool) -> None:
        self.plural, self.of_client = plural, of_client
        self.queue: asyncio.Queue[Change | None] = asyncio.Queue()

    def end(self) -> None:
        self.queue.put_nowait(None)


class Store:
    def __init__(self, path: Path | None = None, history: int = 10_000) -> None:
        self.revision, self.compacted = 1, 0
        self._objects: dict[str, dict[tuple[str, str], Obj]] = {}
        self._changes: deque[Change] = deque()
        self._history, self._subscriptions = history, set[Subscription]()
        if path is not None:
            self._replay(path)
        self._journal = path.open("ab", buffering=0) if path is not None else None

    def _replay(self, path: Path) -> None:
        if not path.exists():
            return
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # killed while it wrote
            path.write_bytes(b"".join(lines[:-1]))
            lines.pop()
        for line in lines:
            revision, kind, key, obj = msgspec.json.decode(line)
            self._keep(Change(revision, kind, tuple(key), obj, self.get(tuple(key))))

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    # -- reading --------------------------------------------------------------------------------------------------
    def get(self, key: Key) -> Obj | None:
        return self._objects.get(key[0], {}).get(key[1:])

    def items(self, plural: str, namespace: str = "") -> list[Obj]:
        """In the order of namespace and name."""
        found = self._objects.get(plural, {})
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]

    def list_at(self, plural: str, namespace: str, revision: int) -> list[Obj]:
        """As it was: for reads that are stale."""
        found = dict(self._objects.get(plural, {}))
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            if change.key[0] == plural and change.before is None:
                found.pop(change.key[1:], None)
            elif change.key[0] == plural and change.before is not None:
                found[change.key[1:]] = change.before
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]

    # -- writing --------------------------------------------------------------------------------------------------
    def put(self, key: Key, obj: Obj) -> Obj:
        """Stores `obj`, which is the store's from now on, and gives it its resourceVersion."""
        before = self.get(key)
        obj["metadata"]["resourceVersion"] = str(self.revision + 1)
        self._commit(Change(self.revision + 1, "MODIFIED" if before else "ADDED", key, obj, before))
        return obj

    def remove(self, key: Key) -> Obj:
        """The object as it was last, with the resourceVersion of its removal."""
        before = self._objects[key[0]][key[1:]]
        last = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.revision + 1)}}
        self._commit(Change(self.revision + 1, "DELETED", key, last, before))
        return last

    def _commit(self, change: Change) -> None:
        if self._journal is not None:
            self._journal.write(msgspec.json.encode(change[:4]) + b"\n")
        self._keep(change)
        for one in self._subscriptions:
            if one.plural == change.key[0]:
                one.queue.put_nowait(change)

    def _keep(self, change: Change) -> None:
        found = self._objects.setdefault(change.key[0], {})
        if change.kind == "DELETED":
            found.pop(change.key[1:], None)
        else:
            found[change.key[1:]] = change.obj
        self.revision = change.revision
        self._changes.append(change)
        while len(self._changes) > self._history:
            self.compacted = self._changes.popleft().revision

    # -- watching -------------------------------------------------------------------------------------------------
    def compact(self) -> None:
        """Forget all history: a watch from any earlier version is 410."""
        self._changes.clear()
        self.compacted = self.revision

    def since(self, plural: str, revision: int) -> list[Change] | None:
        """Changes after `revision`; None when they were forgotten."""
        if revision < self.compacted:
            return None
        return [one for one in self._changes if one.revision > revision and one.key[0] == plural]

    def subscribe(self, plural: str, *, of_client: bool = False) -> Subscription:
        """`of_client`: a watch over HTTP; the controllers of the server itself are no clients."""
        made = Subscription(plural, of_client=of_client)
        self._subscriptions.add(made)
        return made

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def is_watched(self, plural: str) -> bool:
        """Whether a watch gets what happens from now on; that one was asked for is known before."""
        return any(one.of_client and one.plural == plural for one in self._subscriptions)

    def end_watches(self, plural: str = "") -> None:
        for one in self._subscriptions:
            if one.of_client and plural in ("", one.plural):
                one.end()
