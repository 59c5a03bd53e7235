"""An API server asked by tests that are no coroutines: calls, and watches that are written down, in a loop apart."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import msgspec

from actors.shared.api import kubeconfig
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import ApiError, Gone, NotFound

Obj = dict[str, Any]
CALL_SECONDS = 30.0


@dataclass(frozen=True)
class SeenEvent:
    """One event of a watch, and when it came (time.time())."""

    at: float
    kind: str
    obj: Obj

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])


@dataclass
class Watched:
    """What a watch told so far. It goes on over faults of the server; what was lost between is listed again."""

    path: str
    query: dict[str, str]
    events: list[SeenEvent] = field(default_factory=list)
    now: dict[str, Obj] = field(default_factory=dict)
    """Objects as they are, by `namespace/name`."""
    started_at: threading.Event = field(default_factory=threading.Event)

    def until(self, condition: Callable[[], Any], what: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                last = msgspec.json.encode([one.obj.get("status") for one in self.events[-3:]]).decode()
                raise AssertionError(f"not within {seconds:g} s: {what}; last told: {last[:3000]}")
            time.sleep(0.005)

    def first(self, condition: Callable[[SeenEvent], Any], seconds: float = 30.0, what: str = "an event") -> SeenEvent:
        """The first event that fits."""
        found: list[SeenEvent] = []

        def look() -> bool:
            found[:] = [one for one in list(self.events) if condition(one)][:1]
            return bool(found)

        self.until(look, what, seconds)
        return found[0]


class ApiConnection:
    """By a kubeconfig, which must be an administrator's for most of it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = ApiClient(kubeconfig.load(path))
        self._watching = set[asyncio.Task[None]]()
        self._made: list[str] = []

    def __enter__(self) -> ApiConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        await self._client.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)

    # -- calls ----------------------------------------------------------------------------------------------------
    def call(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """The object that came back. Raises ApiError."""
        data = msgspec.json.encode(body) if body is not None else b""
        answer = self._run(self._client.call(method, path, body=data, content_type=content_type))
        found = msgspec.json.decode(answer.body) if answer.body else None
        if method == "POST" and (name := (found or {}).get("metadata", {}).get("name")):
            self._made.append(f"{path}/{name}")
        return found

    def delete_made(self) -> None:
        """Delete what was made by calls and is there still, the newest first."""
        for path in reversed(self._made):
            with contextlib.suppress(ApiError):  # what is gone, and what cannot be deleted, as a token
                self.call("DELETE", path, {"gracePeriodSeconds": 0} if "/pods/" in path else {})
        self._made.clear()

    def find(self, path: str) -> Obj | None:
        try:
            return self.call("GET", path)  # type: ignore[no-any-return]
        except NotFound:
            return None

    def merge(self, path: str, patch: object) -> Obj:
        return self.call("PATCH", path, patch, "application/merge-patch+json")  # type: ignore[no-any-return]

    # -- watches --------------------------------------------------------------------------------------------------
    def watch(self, path: str, **query: str) -> Watched:
        """Begins with a list, so what is there already is in `now` and not in `events`."""
        watched = Watched(path, query)

        async def start() -> None:
            task = asyncio.ensure_future(self._follow(watched))
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)

        self._run(start())
        assert watched.started_at.wait(CALL_SECONDS), f"no list of {path}"
        return watched

    async def _follow(self, watched: Watched) -> None:
        client = ApiClient(kubeconfig.load(self._path))
        version = ""
        try:
            while True:
                try:
                    version = version or await self._list(client, watched)
                    query = {**watched.query, "resourceVersion": version, "allowWatchBookmarks": "true"}
                    async with aclosing(client.watch(watched.path, query)) as events:
                        async for event in events:
                            obj = msgspec.json.decode(event.object)
                            version = obj["metadata"]["resourceVersion"]
                            _note(watched, event.type, obj)
                except Gone:
                    version = ""
                except ApiError:
                    await asyncio.sleep(0.1)
        finally:
            await client.close()

    async def _list(self, client: ApiClient, watched: Watched) -> str:
        answer = await client.call("GET", watched.path, query=watched.query)
        found = msgspec.json.decode(answer.body)
        has = {_key(one): one for one in found["items"]}
        for key in set(watched.now) - set(has):
            _note(watched, "DELETED", watched.now[key])
        for key, one in has.items():
            if not watched.started_at.is_set():
                watched.now[key] = one
            elif watched.now.get(key) != one:
                _note(watched, "MODIFIED" if key in watched.now else "ADDED", one)
        watched.started_at.set()
        return str(found["metadata"]["resourceVersion"])


def _key(obj: Obj) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _note(watched: Watched, kind: str, obj: Obj) -> None:
    if kind == "BOOKMARK":
        return
    watched.events.append(
        SeenEvent(time.time(), kind, obj)
    )  # first: who waits for what is there now may read what was told
    if kind == "DELETED":
        watched.now.pop(_key(obj), None)
    else:
        watched.now[_key(obj)] = obj
