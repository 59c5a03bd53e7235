"""Follows one collection: a list, then watches, without end (Kubernetes API concepts, "Efficient detection of
changes").

While the server is unreachable the known objects stay: only a successful list calls `replaced`. Lists ask for the
newest state (no resourceVersion), because a stale cache could lack a pod that runs here.

A server that was restored from a backup continues an older history with the same numbers. A watch that continues from
a version of the lost history misses, without an error, what changes until the server reaches that version again. So
one collection of the agent is listed again after each outage (`on_restored`), and tells of an older version.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from actors.shared.kube.resource_versions import is_older
from supervision.backoff import Backoff, BackoffPolicy
from supervision.errors import UNREADABLE

from .client import QUIET_SECONDS, ApiClient, ApiResponse, WatchEvent
from .errors import ApiError, Gone, TooLarge, Unreachable
from .exchange import MAX_ANSWER

BACKOFF: Final = BackoffPolicy(first=0.8, maximum=30.0, factor=2.0, jitter=0.5, free=0)
WATCH_SECONDS: Final = (300, 600)
"""The range of the random timeout of a watch, in seconds."""
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner counts as failed, so that it is not repeated in a busy loop."""
LIST_SECONDS: Final = 60.0
PAGE_OBJECTS: Final = 25
"""The objects in a page of a list that is over MAX_ANSWER as a whole: etcd takes objects of up to 1.5 MiB."""
_FIRST_PAGE: Final = {"limit": str(PAGE_OBJECTS)}
RELIST_AFTER: Final = 2
"""The number of consecutive 5xx answers after which the collection is listed again."""
NOT_OF_THE_VERSION: Final = frozenset({401, 403, 429})
"""Refusals that a list would get too. Others may concern the version from which the watch continues."""


class Item(msgspec.Struct, frozen=True):
    """An object of the collection; `data` is its original JSON."""

    uid: str
    namespace: str
    name: str
    version: str
    data: bytes


class ListPage(msgspec.Struct, frozen=True):
    """A list, or a part of one."""

    version: str
    items: list[Item]
    rest: str
    """The token for the omitted rest of the list; '' for none."""


class Store(Protocol):
    """Receives the changes. These methods must not raise."""

    def replaced(self, items: list[Item]) -> None:
        """All objects, after each list."""

    def changed(self, item: Item) -> None:
        """Added or modified."""

    def deleted(self, item: Item) -> None:
        """Deleted, or no longer selected."""

    def failed(self, error: ApiError) -> None:
        """List or watch failed; it is retried."""

    def answered(self) -> None:
        """The server has started to answer list or watch."""


class _Meta(msgspec.Struct):
    uid: str = ""
    namespace: str = ""
    name: str = ""
    resourceVersion: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""
    rest: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_read_object = msgspec.json.Decoder(_Object)
_read_list = msgspec.json.Decoder(_List)


class RestoreCheck:
    """Compares the list after an outage with the version before it."""

    def __init__(self, on_restored: Callable[[str], Awaitable[None]]) -> None:
        self._on_restored = on_restored
        self._before = self._reason = ""

    def forgotten(self, version: str) -> None:
        """The next list does not continue from this version."""
        self._before = version or self._before

    async def listed(self, path: str, version: str) -> None:
        """Raises ApiError if the list must not be used, nor any later one for which `on_restored` raises: the version
        of a server of which nothing is known yet grows beyond that of the one before."""
        if is_older(version, self._before):
            self._reason = f"it is at version {version} of {path}, and was at {self._before} before"
        if self._reason:
            await self._on_restored(self._reason)
        self._before = self._reason = ""


@dataclass(frozen=True)
class FollowedCollection:
    """The collection at `path`, filtered by `query` (fieldSelector, labelSelector)."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReflectorTimes:
    """`watch_seconds`: the range of a watch's timeout."""

    backoff: BackoffPolicy = BACKOFF
    watch_seconds: tuple[int, int] = WATCH_SECONDS
    rng: random.Random = field(default_factory=random.Random)


class Reflector:
    """Follows a collection."""

    def __init__(
        self,
        client: ApiClient,
        collection: FollowedCollection,
        store: Store,
        *,
        times: ReflectorTimes | None = None,
        permits: asyncio.Semaphore | None = None,
        on_restored: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """`permits`: one is held while the collection is listed, so that few of many lists are in memory at once. With
        `on_restored` it lists again after each outage of the server, and calls it with the reason when the list is
        older than what was seen before; an ApiError that it raises refuses the list."""
        self._permits = permits or contextlib.nullcontext()
        self._client, self._path, self._query, self._store = client, collection.path, dict(collection.query), store
        times = times or ReflectorTimes()
        self._policy, self._rng, self._watch_seconds = times.backoff, times.rng, times.watch_seconds
        self._restore_check = RestoreCheck(on_restored) if on_restored is not None else None
        self._version: str | None = ""
        """'' before the first list; None while the list or the watch under way is of a lost history (`start_over`)."""
        self._watch_limit: asyncio.Timeout | None = None
        """The timeout of the watch that runs; None: no watch runs."""
        self._in_pages = False
        """A list was too large for one answer."""
        self._backoff, self._unreachable = Backoff(), False
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """The server is probably back: retry now, without waiting for the pause."""
        self._wake.set()

    def start_over(self) -> None:
        """List again, in place of a list or a watch under way, which is of another history."""
        self._forget_version()
        self._version = None
        if self._watch_limit is not None:
            self._watch_limit.reschedule(asyncio.get_running_loop().time())
        self.wake()

    async def run(self) -> None:
        """Run until it is cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            self._wake.clear()
            self._version = self._version or ""
            started_at, listed = clock(), not self._version
            try:
                if listed:
                    await self._list()
                has_events = self._version is None or await self._watch()
                if not has_events and clock() - started_at >= QUIET_SECONDS:
                    # not even a bookmark: the server may wait for a version that it will not reach for a long time
                    self._forget_version()
                if clock() - started_at >= SHORT_SECONDS:
                    self._backoff = Backoff()
                    continue
                error: ApiError | None = None
            except Gone as gone:
                self._forget_version()
                error = gone
                if not listed:  # the version is too old and the server answers: list at once
                    continue
            except ApiError as other:
                self._store.failed(other)
                error = other
                if self._is_of_the_version(other):
                    # the server may have been restored or replaced, so that its history lacks this version
                    self._forget_version()
                elif self._restore_check is not None and self._unreachable and other.status == 0:
                    # its connection not only broke, there was no other one: an outage
                    self._forget_version()
            await self._pause(clock() - started_at, error)

    def _is_of_the_version(self, error: ApiError) -> bool:
        """Whether listing the collection again may help."""
        if error.status >= 500:
            return self._backoff.failures >= RELIST_AFTER
        return error.status >= 400 and error.status not in NOT_OF_THE_VERSION

    def _forget_version(self) -> None:
        """List again."""
        if self._restore_check is not None:
            self._restore_check.forgotten(self._version or "")
        self._version = ""

    async def _pause(self, healthy_seconds: float, error: ApiError | None) -> None:
        answers = error is None or error.status > 0
        if answers and self._unreachable:  # the server is back: count this as the first failure
            self._backoff = Backoff()
        self._unreachable = not answers
        self._backoff = self._backoff.failed(self._policy, healthy_seconds)
        first = self._backoff.failures == 1 and healthy_seconds >= self._policy.reset_after
        # after a long success the first retry is immediate: the server restarted, or the connection broke
        seconds = self._rng.uniform(0, 0.1) if first else self._backoff.pause(self._policy, self._rng.random)
        seconds = max(seconds, min(error.retry_after, 60.0) if error is not None else 0.0)
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            pass

    async def _list(self) -> None:
        async with self._permits:
            try:
                page = await self._list_page({} if not self._in_pages else _FIRST_PAGE)
            except TooLarge:
                self._in_pages = True
                page = await self._list_page(_FIRST_PAGE)
            version, items = page.version, page.items
            while page.rest:
                page = await self._list_page({**_FIRST_PAGE, "continue": page.rest})
                items += page.items
            if self._version is not None:
                self._version = version
                self._store.replaced(items)

    async def _list_page(self, more: Mapping[str, str]) -> ListPage:
        query = {**self._query, **more}
        answer = await self._client.call("GET", self._path, query=query, timeout=LIST_SECONDS, most=MAX_ANSWER)
        page = read_page(answer)
        if page.rest and not more:
            # no limit was requested. If this counted as the whole list, the other objects would count as deleted
            raise Unreachable(0, "Unreachable", "the answer is a part of a list that was to be whole")
        if self._restore_check is not None:
            await self._restore_check.listed(self._path, page.version)
        self._store.answered()
        return page

    async def _watch(self) -> bool:
        """Whether there was an event. `start_over` ends it."""
        try:
            async with asyncio.timeout(None) as self._watch_limit:
                return await self._take_events()
        except TimeoutError:
            return True
        finally:
            self._watch_limit = None

    async def _take_events(self) -> bool:
        has_events = False
        query = {
            **self._query,
            "resourceVersion": self._version or "",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._rng.randint(*self._watch_seconds)),
        }
        async with aclosing(self._client.watch(self._path, query, opened=self._store.answered)) as events:
            async for event in events:
                self._take(event)
                has_events = True
        return has_events

    def _take(self, event: WatchEvent) -> None:
        if self._version is None:
            return
        item = read_item(event.object)
        if is_older(item.version, self._version):
            text = f"version {item.version} after version {self._version}: the history is another one"
            raise Gone(410, "Expired", text)
        self._version = item.version or self._version
        if event.type == "DELETED":
            self._store.deleted(item)
        elif event.type in ("ADDED", "MODIFIED"):
            self._store.changed(item)


def read_page(answer: ApiResponse) -> ListPage:
    """Objects as original JSON. Raises Unreachable if it is not a list."""
    try:
        read = _read_list.decode(answer.body)
    except UNREADABLE as error:
        raise Unreachable(0, "Unreachable", f"what was listed is no list: {error}") from None
    if not read.metadata.resourceVersion:
        # a proxy may answer 200 to anything, which must not count as an empty list
        raise Unreachable(0, "Unreachable", "the answer is not a list: it has no resourceVersion")
    items = [read_item(bytes(each)) for each in read.items or ()]
    return ListPage(read.metadata.resourceVersion, items, read.metadata.rest)


def read_item(data: bytes) -> Item:
    """Raises Unreachable if it is not an object."""
    try:
        meta = _read_object.decode(data).metadata
    except UNREADABLE as error:
        raise Unreachable(0, "Unreachable", f"what was listed or watched is no object: {error}") from None
    return Item(meta.uid, meta.namespace, meta.name, meta.resourceVersion, data)
