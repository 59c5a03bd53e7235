"""Which images are removed, and which never are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.image_manager.garbage_collection import Collection, Disk, ImageRecord, Thresholds, observe, plan, shortfall
from actors.image_manager.image_collector import used_images
from actors.shared.cri.model import CriContainer, Image

NOW = 10_000.0


def record(image_id: str, size: int = 10, **kwargs: Any) -> ImageRecord:
    return ImageRecord(id=image_id, size_bytes=size, **kwargs)


def removed(records, *, in_use=(), available=10, thresholds=None, running_for=1e6) -> list[str]:
    return plan(records, set(in_use), Disk(100, available), thresholds or Thresholds(), NOW, running_for).remove


def test_no_image_is_removed_below_the_high_threshold():
    assert removed([record("a")], available=16) == []


def test_the_least_recently_used_go_first_until_the_low_threshold():
    records = [record("new", last_used=90), record("old", last_used=10), record("never")]
    assert removed(records, available=5) == ["never", "old"]


def test_in_use_pinned_and_young_images_stay():
    records = [record("used"), record("pinned", pinned=True), record("young", first_seen=NOW - 60), record("free")]
    assert removed(records, in_use=["used"], available=0) == ["free"]


def test_the_maximum_age_counts_only_after_the_agent_ran_for_longer():
    age = Thresholds(maximum_age=1000)
    records = [record("old", last_used=NOW - 2000), record("fresh", last_used=NOW - 10)]
    assert removed(records, available=90, thresholds=age) == ["old"]
    assert removed(records, available=90, thresholds=age, running_for=500) == []


def test_images_over_the_maximum_age_are_removed_first_and_free_no_counted_bytes():
    records = [record("old", last_used=NOW - 2000), record("fresh", last_used=NOW - 10)]
    found = plan(records, set(), Disk(100, 5), Thresholds(maximum_age=1000), NOW, 1e6)
    assert (found.remove, found.aged, found.wanted_bytes) == (["old", "fresh"], 1, 15 - records[0].size_bytes)
    assert found.freeable_bytes == records[1].size_bytes


def test_a_disk_without_capacity_collects_nothing():
    assert plan([record("a")], set(), Disk(0, 0), Thresholds(), NOW, 1e6).remove == []


def test_a_listing_keeps_what_was_known_and_forgets_what_is_gone():
    known = observe({}, [("a", 1, False), ("b", 1, False)], {"a"}, 100.0)
    later = observe(known, [("a", 1, False), ("c", 1, False)], set(), 200.0)
    assert {key: (r.first_seen, r.last_used) for key, r in later.items()} == {"a": (100, 100), "c": (200, 0)}


images = st.builds(
    ImageRecord,
    id=st.text("abc", min_size=1, max_size=3),
    size_bytes=st.integers(0, 50),
    pinned=st.booleans(),
    first_seen=st.floats(0, NOW),
    last_used=st.floats(0, NOW),
)


@given(
    st.lists(images, max_size=12, unique_by=lambda r: r.id), st.sets(st.text("abc", max_size=3)), st.integers(0, 100)
)
def test_no_protected_image_is_removed_and_enough_others_are(records, in_use, available):
    collection = plan(records, in_use, Disk(100, available), Thresholds(), NOW, 1e6)
    by_id = {r.id: r for r in records}
    assert not [i for i in collection.remove if i in in_use or by_id[i].pinned or NOW - by_id[i].first_seen < 120]
    freed = sum(by_id[i].size_bytes for i in collection.remove)
    assert freed >= min(collection.wanted_bytes, collection.freeable_bytes)


@pytest.mark.parametrize(
    "told",
    [{"image_id": "sha256:1"}, {"image_ref": "sha256:1"}, {"image_ref": "r/a@sha256:2"}, {"image": "r/a:1"}],
)
def test_an_image_is_in_use_under_any_of_its_names(told):
    images = [Image(id="sha256:1", tags=["r/a:1"], digests=["r/a@sha256:2"]), Image(id="sha256:3")]
    container = CriContainer(id="c", name="c", pod_uid="u", **told)

    assert used_images(images, [container]) == {"sha256:1"}


def test_a_full_disk_and_one_without_a_size_are_events_with_the_kubelets_messages():
    assert shortfall(Disk(100, 50), Collection([], 10, 10)) is None
    for capacity, shown in ((100, "100 B"), (1600, "1.6 KiB"), (100 << 30, "100.0 GiB"), (5000 << 40, "5000.0 TiB")):
        assert shortfall(Disk(capacity, capacity // 20), Collection([], 15, 10)) == (
            "FreeDiskSpaceFailed",
            f"Insufficient free disk space on the node's image filesystem (95% of {shown} used). Failed to free "
            "sufficient space by deleting unused images (freed 10 bytes). Investigate disk usage, as it could be used "
            "by active images, logs, volumes, or other data.",
        )
    assert shortfall(Disk(0, 0), Collection([], 0, 0)) == (
        "InvalidDiskCapacity",
        "invalid capacity 0 on image filesystem",
    )


def test_the_high_threshold_itself_and_100_percent_are_where_removal_begins_and_is_off():
    assert removed([record("a")], available=15) == ["a"]
    assert removed([record("a")], available=0, thresholds=Thresholds(high_percent=100)) == []


def test_a_node_with_ten_thousand_images_plans_without_comparing_each_with_each() -> None:
    class Counted(str):
        compared = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, str(other))

        __hash__ = str.__hash__

    count = 10_000
    records = [record(Counted(number), 0, last_used=number + 1) for number in range(count)]
    assert len(removed(records, available=0, thresholds=Thresholds(maximum_age=5000))) == count
    assert Counted.compared < 20 * count


def test_for_a_disk_without_a_size_no_image_is_removed():
    found = plan([record("a")], set(), Disk(0, 0), Thresholds(high_percent=0, low_percent=0), NOW, 1e6)
    assert (found.remove, found.wanted_bytes) == ([], 0)
