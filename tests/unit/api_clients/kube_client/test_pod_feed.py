from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from actors.api_clients.kube_client.pod_feed import CONSUMERS, PodFeed
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.api.errors import ApiError
from actors.shared.api.reflector import Item
from actors.shared.lists_in_parts import PART_BYTES, ListsInParts
from supervision.addresses import ActorName
from supervision.message import Message

POD = Item("u", "web", "a", "7", b'{"spec":1}')


class Feed:
    """The class under test, and what it says to whom."""

    def __init__(self) -> None:
        self.received: list[tuple[ActorName, Message]] = []
        self.seen: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []
        lists = ListsInParts(self)
        self.feed = PodFeed(self, self.tell, lists, lambda item: self.seen.append(item.data), lambda uids: None)

    def tell(self, name: ActorName, message: Message) -> None:
        self.received.append((name, message))

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(0)

    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(coroutine))
        return self.tasks[-1]

    def collection_answered(self, collection: str) -> None: ...
    def collection_failed(self, collection: str, error: ApiError) -> None: ...


def other(pod: Item) -> Item:
    """Of the same version, with another content: from a server whose history is another one."""
    return msgspec.structs.replace(pod, data=b'{"spec":2}')


def test_an_event_of_a_known_version_with_other_content_is_reported() -> None:
    feed = Feed()
    feed.feed.changed(POD)
    feed.feed.changed(other(POD))
    assert feed.seen == [POD.data, other(POD).data]
    assert feed.received[2:] == [(name, SourcePod("api", "u", other(POD).data)) for name in CONSUMERS]


def test_an_event_without_a_change_is_not_reported() -> None:
    feed = Feed()
    feed.feed.changed(POD)
    feed.feed.changed(msgspec.structs.replace(POD))
    assert len(feed.received) == len(CONSUMERS)


def test_a_list_with_other_content_of_a_known_version_is_looked_into() -> None:
    feed = Feed()
    feed.feed.replaced([POD])
    feed.feed.replaced([other(POD)])
    assert feed.seen == [POD.data, other(POD).data]
    assert feed.received[-1][1] == SourcePods("api", [other(POD).data])


async def test_a_list_that_is_too_large_for_one_message_comes_in_parts_and_says_what_came_and_went_meanwhile() -> None:
    feed = Feed()
    large = [Item(uid, "web", uid, "7", uid.encode() * PART_BYTES) for uid in "abc"]
    feed.feed.replaced(large)
    feed.feed.deleted(large[1])
    feed.feed.changed(POD)
    await asyncio.gather(*feed.tasks)
    for name in CONSUMERS:
        told = [message for receiver, message in feed.received if receiver == name]
        assert told == [
            SourcePod("api", "b"),
            SourcePod("api", "u", POD.data),
            SourcePods("api", [large[0].data], more=True),
            SourcePods("api", [], more=True),
            SourcePods("api", [large[2].data], ["a", "u"]),
        ]


def test_a_part_of_a_list_replaces_no_other_in_a_queue() -> None:
    assert SourcePods("api", [], more=True).coalesce_key() is None
    assert SourcePods("api", [], ["a"]).coalesce_key() == SourcePods("api", []).coalesce_key() is not None
