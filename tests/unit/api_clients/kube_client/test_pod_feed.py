from __future__ import annotations

import msgspec

from actors.api_clients.kube_client.pod_feed import CONSUMERS, PodFeed
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.api.errors import ApiError
from actors.shared.api.reflector import Item
from supervision.addresses import ActorName
from supervision.message import Message

POD = Item("u", "web", "a", "7", b'{"spec":1}')


class Feed:
    """The class under test, and what it says to whom."""

    def __init__(self) -> None:
        self.received: list[tuple[ActorName, Message]] = []
        self.seen: list[bytes] = []
        self.feed = PodFeed(self, self._tell, lambda item: self.seen.append(item.data), lambda uids: None)

    def _tell(self, name: ActorName, message: Message) -> None:
        self.received.append((name, message))

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
