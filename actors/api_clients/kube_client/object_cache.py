"""A cache of the Secrets and ConfigMaps of this node's pods, by configMapAndSecretChangeDetectionStrategy."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from actors.api_clients.kube_client.messages import ObjectRef, ObjectState
from actors.shared.api.errors import ApiError

from .cached_object import IDLE_SECONDS, CachedObject, CachedObjectOwner

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient

MAX_WATCHES: Final = 300
"""Each is a stream; further objects are read again when they are older than the TTL (strategy Cache)."""
DEFAULT_TTL: Final = 60.0
"""Seconds, for a node without the annotation."""
NODE: Final = ""
"""In place of a pod's UID, for references of the node itself."""
MOST_BYTES: Final = 32 << 20
"""The most for all objects that are kept: pods name as many as they like, and this actor has a ceiling of memory. The
largest objects beyond that are not kept: each is read for each question, and again like those without a watch."""
AT_ONCE: Final = 8
"""The most objects that are read at once."""
MAX_READS: Final = 20
"""Limit of the objects that are read again in one round."""


class ObjectsActor(Protocol):
    """The interface of the cache to its actor."""

    client: ApiClient | None

    async def request(self, method: str, path: str) -> Any: ...
    def start_task(self, coroutine: Any, name: str = "") -> asyncio.Task[Any]: ...
    def answered(self) -> None: ...
    def failed(self, error: ApiError) -> None: ...


class _FewReads(CachedObjectOwner):
    """The actor, which reads only a few objects at once."""

    def __init__(self, actor: ObjectsActor) -> None:
        self._actor, self.permits = actor, asyncio.Semaphore(AT_ONCE)

    @property
    def client(self) -> ApiClient | None:
        return self._actor.client

    async def request(self, method: str, path: str) -> Any:
        async with self.permits:
            return await self._actor.request(method, path)

    def start_task(self, coroutine: Any, name: str = "") -> asyncio.Task[Any]:
        return self._actor.start_task(coroutine, name)

    def answered(self) -> None:
        self._actor.answered()

    def failed(self, error: ApiError) -> None:
        self._actor.failed(error)


class ObjectCache:
    def __init__(
        self,
        owner: ObjectsActor,
        strategy: str,
        on_change: Callable[[ObjectState], None],
        clock: Callable[[], float],
    ) -> None:
        """`strategy`: Watch, Cache or Get. `on_change` is called with each new state of a mounted object."""
        self._owner, self._strategy, self._on_change, self._clock = _FewReads(owner), strategy, on_change, clock
        self._ttl = DEFAULT_TTL
        self._objects: dict[ObjectRef, CachedObject] = {}
        self._of_pod: dict[str, Mapping[ObjectRef, bool]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def ttl(self) -> float:
        """Seconds."""
        return self._ttl

    def set_ttl(self, ttl: float) -> None:
        """Set the TTL of objects without a watch, in seconds."""
        self._ttl = ttl

    @property
    def watches(self) -> int:
        return sum(each.running for each in self._objects.values())

    # -- references ---------------------------------------------------------------------------------------------------
    def refer(self, uid: str, refs: Mapping[ObjectRef, bool]) -> None:
        """Set the references of a pod, with whether it mounts them; none: it is deleted, or has none."""
        before = self._of_pod.get(uid, {})
        if refs == before:
            return
        watches = self.watches
        for ref, mounted in refs.items():
            cached = self._objects.get(ref)
            if cached is None:
                watched = self._strategy == "Watch" and watches < MAX_WATCHES
                watches += watched
                cached = self._objects[ref] = self._made(ref, self._changed, watched=watched)
            cached.refer(uid, mounted=mounted)
        for ref in before.keys() - refs.keys():
            self._release(ref, uid)
        if refs:
            self._of_pod[uid] = refs
        else:
            self._of_pod.pop(uid, None)

    def retain(self, uids: set[str]) -> None:
        """Drop the references of all other pods."""
        for uid in self._of_pod.keys() - uids - {NODE}:
            self.refer(uid, {})

    def _release(self, ref: ObjectRef, uid: str) -> None:
        cached = self._objects[ref]
        cached.release(uid)
        if not cached.users:
            cached.stop()
            del self._objects[ref]

    def _made(self, ref: ObjectRef, on_change: Callable[[ObjectState], None], *, watched: bool = False) -> CachedObject:
        return CachedObject(self._owner, ref, on_change, now=self._clock(), watched=watched)

    def _changed(self, state: ObjectState) -> None:
        self._make_room()
        cached = self._objects.get(state.ref)
        if cached is not None and cached.mounted:
            self._on_change(state)

    def _make_room(self) -> None:
        """Drop the largest objects until the rest has room. The node's own stay."""
        kept = [one for one in self._objects.values() if one.kept_bytes and NODE not in one.users]
        size = sum(one.kept_bytes for one in kept)
        for one in sorted(kept, key=lambda one: one.kept_bytes, reverse=True) if size > MOST_BYTES else ():
            if size <= MOST_BYTES:
                return
            size -= one.kept_bytes
            one.drop()

    # -- reading ------------------------------------------------------------------------------------------------------
    async def get(self, ref: ObjectRef, wait: float) -> ObjectState:
        """The current state. An object without a reference is read, and not cached."""
        now = self._clock()
        cached = self._objects.get(ref) or self._made(ref, lambda state: None)
        cached.use(now)
        if cached.watched:
            state = await cached.current(wait)
            if not cached.too_large:
                return state
        return await cached.read(now, 0.0 if self._strategy == "Get" or not cached.users else self._ttl)

    def error(self, ref: ObjectRef) -> ObjectState | None:
        """The error of the last read; None: it succeeded, or there was none."""
        cached = self._objects.get(ref)
        return cached.error if cached is not None else None

    def tell_all(self) -> None:
        """Call `on_change` with the state of every mounted object."""
        for cached in self._objects.values():
            state = cached.state
            if cached.mounted and state is not None:
                self._on_change(state)

    # -- periodic -----------------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """The server answers again: no watch waits for the end of its backoff."""
        for cached in self._objects.values():
            cached.wake()

    def start_over(self) -> None:
        """The server's history is another one: each object is read again."""
        for cached in self._objects.values():
            cached.start_over()

    async def upkeep(self, rng: random.Random) -> None:
        """End idle watches; read mounted objects without a watch again whose TTL is over. Called every few seconds."""
        now = self._clock()
        due = []
        for cached in list(self._objects.values()):
            if cached.watched:
                if not cached.mounted and now - cached.used_at > IDLE_SECONDS:
                    cached.stop()
            elif cached.mounted and now - cached.read_at > max(self._ttl, 1.0) * rng.uniform(1.0, 1.2):
                due.append(cached)
        for cached in due[:MAX_READS]:
            await cached.read(now, 0.0)
