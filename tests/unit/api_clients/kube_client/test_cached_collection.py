"""What a cached collection tells of its changes, and what it says before it was listed."""

from __future__ import annotations

from typing import Any

from actors.api_clients.kube_client.cached_collection import CachedCollection
from actors.shared.api.errors import ApiError, Forbidden
from actors.shared.api.reflector import Item


def item(name: str, data: bytes = b"1") -> Item:
    return Item(name, "ns", name, "1", data)


class Follower:
    """It notes the objects that it is told of; None: the collection as a whole."""

    def __init__(self) -> None:
        self.told: list[str | None] = []
        self.failed: list[tuple[str, ApiError]] = []
        self.answered: list[str] = []
        owner: Any = self
        self.collection = CachedCollection(
            owner,
            "things",
            trim=bytes.upper,
            on_change=lambda: self.told.append(None),
            on_object=lambda namespace, name: self.told.append(f"{namespace}/{name}"),
        )

    def collection_failed(self, name: str, error: ApiError) -> None:
        self.failed.append((name, error))

    def collection_answered(self, name: str) -> None:
        self.answered.append(name)

    def news(self) -> list[str | None]:
        told, self.told = self.told, []
        return told


def test_each_object_that_a_list_shows_as_new_changed_or_gone_is_told_before_the_whole() -> None:
    follower = Follower()
    follower.collection.replaced([item("same"), item("changed"), item("gone")])
    *objects, last = follower.news()
    assert (set(objects), last) == ({"ns/same", "ns/changed", "ns/gone"}, None)
    follower.collection.replaced([item("same"), item("changed", b"2"), item("new")])
    *objects, last = follower.news()
    assert (set(objects), last) == ({"ns/changed", "ns/gone", "ns/new"}, None)


def test_each_change_and_deletion_is_told_and_kept_trimmed() -> None:
    follower = Follower()
    follower.collection.changed(item("a", b"text"))
    assert (follower.news(), follower.collection.objects) == (["ns/a", None], {("ns", "a"): b"TEXT"})
    follower.collection.deleted(item("a"))
    assert (follower.news(), follower.collection.objects) == (["ns/a", None], {})
    follower.collection.deleted(item("never seen"))
    assert follower.news() == ["ns/never seen", None]


async def test_it_is_synced_once_it_was_listed_and_an_error_lasts_until_then() -> None:
    follower, error = Follower(), Forbidden(403, "Forbidden", "no")
    follower.collection.failed(error)
    assert not await follower.collection.is_synced(0.0)
    assert (follower.collection.error, follower.failed) == (error, [("things", error)])
    follower.collection.answered()
    follower.collection.replaced([])
    assert await follower.collection.is_synced(0.0)
    assert (follower.collection.error, follower.answered) == (None, ["things"])
