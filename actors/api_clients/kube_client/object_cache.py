"""The Secrets and ConfigMaps that pods of this node refer to, by configMapAndSecretChangeDetectionStrategy."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from actors.api_clients.messages import ObjectRef, ObjectState

from .cached_object import IDLE_SECONDS, CachedObject, Owner

MAX_WATCHES: Final = 300
"""Each is a stream; beyond these, objects are read again when they are old (strategy Cache)."""
DEFAULT_TTL: Final = 60.0
"""Seconds, when the node has no annotation of it."""
NODE: Final = ""
"""In place of a pod's UID: what the node itself refers to."""
MAX_READS: Final = 20
"""Most objects that are read again in one round."""


class ObjectCache:
    """`told` is called with each new state of what pods mount."""

    def __init__(
        self, owner: Owner, strategy: str, on_change: Callable[[ObjectState], None], clock: Callable[[], float]
    ) -> None:
        """`strategy`: Watch, Cache or Get; `clock` counts seconds."""
        self._owner, self._strategy, self._on_change, self._clock = owner, strategy, on_change, clock
        self._ttl = DEFAULT_TTL
        self._kept: dict[ObjectRef, CachedObject] = {}
        self._of_pod: dict[str, Mapping[ObjectRef, bool]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def ttl(self) -> float:
        """Seconds."""
        return self._ttl

    def keep_for(self, ttl: float) -> None:
        """Seconds that an object that is not watched is good for."""
        self._ttl = ttl

    @property
    def watches(self) -> int:
        return sum(each.running for each in self._kept.values())

    # -- who refers to what -------------------------------------------------------------------------------------------
    def refer(self, uid: str, refs: Mapping[ObjectRef, bool]) -> None:
        """The pod refers to these now, and to nothing else; none: it is gone, or needs nothing."""
        before = self._of_pod.get(uid, {})
        if refs == before:
            return
        for ref, mounted in refs.items():
            self._keep(ref).refer(uid, mounted=mounted)
        for ref in before.keys() - refs.keys():
            self._release(ref, uid)
        if refs:
            self._of_pod[uid] = refs
        else:
            self._of_pod.pop(uid, None)

    def retain(self, uids: set[str]) -> None:
        """Only these pods are there."""
        for uid in self._of_pod.keys() - uids - {NODE}:
            self.refer(uid, {})

    def _keep(self, ref: ObjectRef) -> CachedObject:
        kept = self._kept.get(ref)
        if kept is None:
            watched = self._strategy == "Watch" and self.watches < MAX_WATCHES
            kept = CachedObject(self._owner, ref, self._changed, now=self._clock(), watched=watched)
            self._kept[ref] = kept
        return kept

    def _release(self, ref: ObjectRef, uid: str) -> None:
        kept = self._kept[ref]
        kept.release(uid)
        if not kept.users:
            kept.stop()
            del self._kept[ref]

    def _changed(self, state: ObjectState) -> None:
        kept = self._kept.get(state.ref)
        if kept is not None and kept.mounted:
            self._on_change(state)

    # -- reading ------------------------------------------------------------------------------------------------------
    async def get(self, ref: ObjectRef, wait: float) -> ObjectState:
        """As of now; what no pod refers to is asked for, and not kept."""
        now = self._clock()
        kept = self._kept.get(ref) or CachedObject(self._owner, ref, lambda state: None, now=now)
        kept.use(now)
        if kept.watched:
            return await kept.current(wait)
        return await kept.read(now, 0.0 if self._strategy == "Get" or not kept.users else self._ttl)

    def error(self, ref: ObjectRef) -> ObjectState | None:
        """Why the server did not give it the last time; None: it did, or was not asked."""
        kept = self._kept.get(ref)
        return kept.error if kept is not None else None

    def tell_all(self) -> None:
        """The state of everything that is mounted, again."""
        for kept in self._kept.values():
            state = kept.state
            if kept.mounted and state is not None:
                self._on_change(state)

    # -- now and then -------------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """The server is back."""
        for kept in self._kept.values():
            kept.wake()

    async def upkeep(self, rng: random.Random) -> None:
        """End idle watches; read again what is mounted, not watched, and old. Every few seconds."""
        now = self._clock()
        due = []
        for kept in list(self._kept.values()):
            if kept.watched:
                if not kept.mounted and now - kept.used_at > IDLE_SECONDS:
                    kept.stop()
            elif kept.mounted and now - kept.read_at > max(self._ttl, 1.0) * rng.uniform(1.0, 1.2):
                due.append(kept)
        for kept in due[:MAX_READS]:
            await kept.read(now, 0.0)
