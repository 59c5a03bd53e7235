"""Waiting for the decision on a request, against a client whose watch is scripted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from actors.cert_manager import request_attempt
from actors.cert_manager.request_attempt import WATCH_SECONDS
from actors.cert_manager.signing_request import PATH, RequestState, SigningRequest
from actors.shared.api.client import WatchEvent
from actors.shared.api.errors import Unreachable

BEFORE = SigningRequest(RequestState.PENDING, version="7")


def event(kind: str, version: int, condition: str = "") -> WatchEvent:
    conditions = [{"type": condition, "reason": "Test"}] if condition else []
    document = {"metadata": {"resourceVersion": str(version)}, "status": {"conditions": conditions}}
    return WatchEvent(kind, json.dumps(document).encode())


class Client:
    """Its watch has these events, and then hangs, or fails with an error that is among them."""

    def __init__(self, *events: WatchEvent | Unreachable) -> None:
        self._events = events
        self.asked: list[tuple[str, Mapping[str, str], float]] = []

    async def watch(self, path: str, query: Mapping[str, str], *, quiet: float) -> AsyncIterator[WatchEvent]:
        self.asked.append((path, query, quiet))
        for one in self._events:
            if isinstance(one, Unreachable):
                raise one
            yield one
        await asyncio.Event().wait()


async def watched(*events: WatchEvent | Unreachable) -> SigningRequest:
    client: Any = Client(*events)
    return await asyncio.wait_for(request_attempt._watch(client, "csr-1", BEFORE), 10.0)


async def test_only_this_request_is_watched_from_the_version_that_was_read_and_not_for_ever() -> None:
    client: Any = Client(event("DELETED", 8))
    await request_attempt._watch(client, "csr-1", BEFORE)
    query = {"fieldSelector": "metadata.name=csr-1", "resourceVersion": "7", "timeoutSeconds": f"{WATCH_SECONDS:.0f}"}
    assert client.asked == [(PATH, query, WATCH_SECONDS)]


@pytest.mark.parametrize("decision", ["Denied", "Failed"])
async def test_the_watch_ends_with_the_decision(decision: str) -> None:
    found = await watched(event("MODIFIED", 8), event("MODIFIED", 9, decision))
    assert (found.state.value, found.version) == (decision.lower(), "9")


async def test_the_watch_ends_when_the_request_is_deleted() -> None:
    found = await watched(event("MODIFIED", 8), event("DELETED", 9))
    assert (found.state, found.version) == (RequestState.PENDING, "9")


async def test_a_watch_that_fails_leaves_what_was_last_seen() -> None:
    assert await watched(Unreachable(0, "Unreachable", "")) == BEFORE
    assert (await watched(event("MODIFIED", 8), Unreachable(0, "Unreachable", ""))).version == "8"
