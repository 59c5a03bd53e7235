"""A watch: what changed since a version, then what changes, with bookmarks; 410 is an event, as in the real one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from .errors import StatusError, invalid
from .objects import Obj
from .registry import key_of, selection, version_of
from .resources import Resource
from .storage import Change, Store, Subscription

Form = Callable[[Obj], Obj]
"""How an object is shown: as it is, in the other group's form, or as a table."""


@dataclass(frozen=True)
class Watch:
    resource: Resource
    namespace: str
    query: dict[str, str]
    seconds: float
    bookmark_seconds: float
    form: Form

    def wants(self, obj: Obj) -> bool:
        namespace = obj["metadata"].get("namespace", "")
        return self.namespace in ("", namespace) and selection(self.resource, self.query)(obj)


def check_options(query: dict[str, str]) -> None:
    """Raises StatusError 400, 422."""
    version_of(query)
    matches = query.get("resourceVersionMatch") == "NotOlderThan"
    if query.get("sendInitialEvents") and not matches:
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        invalid("ListOptions.meta.k8s.io", "", [("resourceVersionMatch", "FieldValueForbidden", text)])


async def events(store: Store, watch: Watch) -> AsyncIterator[bytes]:
    """Lines of JSON."""
    plural = key_of(watch.resource, "", "")[0]
    subscription = store.subscribe(plural, of_client=True)
    try:
        try:
            first, sent = _beginning(store, watch, plural)
        except StatusError as error:
            yield _line("ERROR", error.status())
            return
        for kind, obj in first:
            yield _line(kind, obj if kind == "BOOKMARK" else watch.form(obj))
        async for line in _following(store, watch, subscription, sent):
            yield line
    finally:
        store.unsubscribe(subscription)


def _beginning(store: Store, watch: Watch, plural: str) -> tuple[list[tuple[str, Obj]], int]:
    """What is sent first, and the version it brings the watcher to. Raises StatusError 410."""
    asked = watch.query.get("resourceVersion", "")
    initial = watch.query.get("sendInitialEvents") == "true"
    if asked in ("", "0") or initial:
        has = [one for one in store.items(plural, watch.namespace) if watch.wants(one)]
        first = [("ADDED", one) for one in has]
        if initial:
            first.append(("BOOKMARK", _bookmark(watch, store.revision, {"k8s.io/initial-events-end": "true"})))
        return first, store.revision
    changes = store.since(plural, int(asked))
    if changes is None:
        raise StatusError(410, f"too old resource version: {asked} ({store.compacted})")
    told = (_told(watch, change) for change in changes)
    return [one for one in told if one is not None], max(store.revision, int(asked))


async def _following(store: Store, watch: Watch, subscription: Subscription, sent: int) -> AsyncIterator[bytes]:
    marks = watch.query.get("allowWatchBookmarks") == "true"
    ends, next_mark = time.monotonic() + watch.seconds, time.monotonic() + watch.bookmark_seconds
    while (left := ends - time.monotonic()) > 0:
        wait = min(left, max(0.0, next_mark - time.monotonic())) if marks else left
        try:
            change = await asyncio.wait_for(subscription.queue.get(), wait)
        except TimeoutError:
            if marks:
                yield _line("BOOKMARK", _bookmark(watch, store.revision))
                next_mark = time.monotonic() + watch.bookmark_seconds
            continue
        if change is None:
            return
        if change.revision > sent and (told := _told(watch, change)) is not None:
            yield _line(told[0], watch.form(told[1]))


def _told(watch: Watch, change: Change) -> tuple[str, Obj] | None:
    """Seen through the selector: what begins to fit is ADDED, what does so no more is DELETED."""
    fits = change.kind != "DELETED" and watch.wants(change.obj)
    fitted = change.before is not None and watch.wants(change.before)
    if fits:
        return ("MODIFIED" if fitted else "ADDED"), change.obj
    if not fitted or change.before is None:
        return None
    if change.kind == "DELETED":
        return "DELETED", change.obj
    metadata = {**change.before["metadata"], "resourceVersion": str(change.revision)}
    return "DELETED", {**change.before, "metadata": metadata}


def _bookmark(watch: Watch, revision: int, annotations: dict[str, str] | None = None) -> Obj:
    metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return {"kind": watch.resource.kind, "apiVersion": watch.resource.api_version, "metadata": metadata}


def _line(kind: str, obj: Obj) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"
