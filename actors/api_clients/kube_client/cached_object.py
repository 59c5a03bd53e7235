"""One cached object: followed by a watch of its own, or read again when its TTL is over.

A node may watch single objects only (the node authorizer allows no more), so that each has a watch of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef, ObjectState
from actors.shared.api.errors import ApiError, Forbidden, NotFound
from actors.shared.api.object_names import selector_value
from supervision.errors import UNREADABLE

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient
    from actors.shared.api.reflector import Item, Reflector

IDLE_SECONDS: Final = 300.0
"""The watch of an object that no pod mounts ends after this time without a request for the object."""
WATCH_SECONDS: Final = (1800, 3600)
"""The range of the timeout of a watch: there are many, and each new one is a request."""
_PLURALS: Final = {"Secret": "secrets", "ConfigMap": "configmaps"}


class CachedObjectOwner(Protocol):
    """The interface of a cached object to its actor."""

    permits: asyncio.Semaphore
    """One is held while an object is read or listed, also by `request`."""

    @property
    def client(self) -> ApiClient | None: ...
    async def request(self, method: str, path: str) -> Any: ...
    def start_task(self, coroutine: Any, name: str = "") -> asyncio.Task[Any]: ...
    def answered(self) -> None: ...
    def failed(self, error: ApiError) -> None: ...


class _Flags(msgspec.Struct):
    immutable: bool | None = None


def collection_path(ref: ObjectRef) -> str:
    return f"/api/v1/namespaces/{quote(ref.namespace, safe='')}/{_PLURALS[ref.kind]}"


def object_path(ref: ObjectRef) -> str:
    return f"{collection_path(ref)}/{quote(ref.name, safe='')}"


def missing(ref: ObjectRef) -> ObjectState:
    return ObjectState(ref, reason="NotFound", message=f'{_PLURALS[ref.kind]} "{ref.name}" not found')


def state_of_error(ref: ObjectRef, error: ApiError) -> ObjectState:
    if isinstance(error, NotFound):
        return missing(ref)
    return ObjectState(ref, reason=error.reason, message=error.message)


class CachedObject:
    """`on_change` is called with each new state."""

    def __init__(
        self,
        owner: CachedObjectOwner,
        ref: ObjectRef,
        on_change: Callable[[ObjectState], None],
        *,
        now: float,
        watched: bool = False,
    ) -> None:
        """`now`: seconds of the cache's clock; `watched`: it gets a watch of its own."""
        self._owner, self.ref, self._on_change = owner, ref, on_change
        self.users: dict[str, bool] = {}
        """The pods that refer to it by UID, and whether they mount it."""
        self.used_at = now
        self.watched = watched
        self.immutable = False
        self.too_large = False
        """It is not kept: there is no room."""
        self.state: ObjectState | None = None
        """The server's last answer; None before the first, and for one that is too large."""
        self._digest = b""
        self.error: ObjectState | None = None
        """The error of the last attempt, None after an answer."""
        self.read_at = float("-inf")
        self._answered = asyncio.Event()
        self._watch: tuple[Reflector, asyncio.Task[Any]] | None = None
        self._reading: asyncio.Task[ObjectState] | None = None
        if watched:
            self.follow()

    # -- users --------------------------------------------------------------------------------------------------------
    def refer(self, uid: str, *, mounted: bool) -> None:
        """A pod refers to it. For a new pod it is read again: it must not start with an old state."""
        if uid not in self.users:
            self._outdate()
        self.users[uid] = mounted

    def release(self, uid: str) -> None:
        self.users.pop(uid, None)

    def use(self, now: float) -> None:
        """Record a request for it."""
        self.used_at = now

    @property
    def mounted(self) -> bool:
        return any(self.users.values())

    @property
    def running(self) -> bool:
        return self._watch is not None

    # -- watch ------------------------------------------------------------------------------------------------------
    def follow(self) -> None:
        """Start the watch, unless it runs or the object is immutable."""
        if self._watch is None and self._owner.client is not None and not self.immutable:
            from actors.shared.api.reflector import FollowedCollection, Reflector, ReflectorTimes

            query = {"fieldSelector": f"metadata.name={selector_value(self.ref.name)}"}
            self._answered.clear()
            followed, times = (
                FollowedCollection(collection_path(self.ref), query),
                ReflectorTimes(watch_seconds=WATCH_SECONDS),
            )
            reflector = Reflector(self._owner.client, followed, self, times=times, permits=self._owner.permits)
            self._watch = reflector, self._owner.start_task(reflector.run(), f"watch {self.ref.kind}")

    def wake(self) -> None:
        """The server answers again: end the watch's backoff."""
        if self._watch is not None:
            self._watch[0].wake()

    def start_over(self) -> None:
        """The server's history is another one: what was read of it counts no longer."""
        self._outdate()
        if self._watch is not None:
            self._answered.clear()
            self._watch[0].start_over()

    def _outdate(self) -> None:
        """Read it again: also the answer of a read that is under way may be too old, and is its callers' only."""
        self.read_at, self._reading = float("-inf"), None

    @property
    def kept_bytes(self) -> int:
        return len(self.state.body) if self.state is not None else 0

    def drop(self) -> None:
        """Keep the object no longer, and do not watch it: it is read for each question."""
        self.too_large, self.watched, self.state = True, False, None
        self._owner.start_task(self._stop_later(), "too large")

    def stop(self) -> None:
        if self._watch is not None:
            self._watch[1].cancel()
            self._watch = None

    async def current(self, wait: float) -> ObjectState:
        """The watched state; waits up to `wait` seconds for the first answer."""
        self.follow()
        if not self._answered.is_set() and not self.immutable:
            try:
                await asyncio.wait_for(self._answered.wait(), wait)
            except TimeoutError:
                pass
        return self.state or self.error or ObjectState(
            self.ref, reason="Unreachable", message=f"the API server has not answered within {wait:g} s"
        )  # fmt: skip

    # -- without a watch ----------------------------------------------------------------------------------------------
    async def read(self, now: float, oldest: float) -> ObjectState:
        """Read it, unless it is immutable or the last answer is younger than `oldest` seconds. Shared by callers."""
        if self.state is not None and (self.immutable or now - self.read_at < oldest):
            return self.state
        if self._reading is None:
            self._reading = self._owner.start_task(self._read(now), f"read {self.ref.kind}")
        return await asyncio.shield(self._reading)

    async def _read(self, now: float) -> ObjectState:
        failed = False
        try:
            found = ObjectState(self.ref, (await self._owner.request("GET", object_path(self.ref))).body)
        except NotFound:
            found = missing(self.ref)
        except ApiError as error:
            found, failed = state_of_error(self.ref, error), True
        if self._reading is asyncio.current_task():
            self._reading = None
            if failed:
                self.error = found
            else:
                self._set_state(found)
                self.read_at = now
        return (self.state or found) if failed else found  # the last known state, if there is one

    # -- callbacks of the reflector -----------------------------------------------------------------------------------
    def replaced(self, items: list[Item]) -> None:
        found = [item for item in items if item.name == self.ref.name]
        self._set_state(ObjectState(self.ref, found[0].data) if found else missing(self.ref))

    def changed(self, item: Item) -> None:
        if item.name == self.ref.name:
            self._set_state(ObjectState(self.ref, item.data))

    def deleted(self, item: Item) -> None:
        if item.name == self.ref.name:
            self._set_state(missing(self.ref))

    def failed(self, error: ApiError) -> None:
        self._owner.failed(error)
        self.error = state_of_error(self.ref, error)
        if not isinstance(error, Forbidden):
            # Forbidden may be temporary: the node authorizer may not know the pod yet that refers to it
            self._answered.set()

    def answered(self) -> None:
        self._owner.answered()

    def _set_state(self, state: ObjectState) -> None:
        before, self._digest = self._digest, _digest(state)
        self.state, self.error = None if self.too_large else state, None
        self._answered.set()
        self.immutable = bool(state.body) and _is_immutable(state.body)
        if self.immutable:
            self._owner.start_task(self._stop_later(), "immutable")
        if self._digest != before:
            self._on_change(state)

    async def _stop_later(self) -> None:
        """Stop in a task of its own, because the reflector is running this callback."""
        self.stop()


def _digest(state: ObjectState) -> bytes:
    """The digest of an object, or of the reason for its absence. It is kept where the object is not."""
    return hashlib.blake2b(state.body or state.reason.encode(), digest_size=16).digest()


def _is_immutable(body: bytes) -> bool:
    if b'"immutable"' not in body:
        return False
    try:
        return msgspec.json.decode(body, type=_Flags).immutable is True
    except UNREADABLE:
        return False
