from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from actors.status_manager.pods.tracked_pod import TrackedPod
from actors.status_manager.reports.pages import PAGE_BYTES, page


class _Pod:
    """Only what `page` reads."""

    def __init__(self, uid: str) -> None:
        self.uid = uid


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 2 * PAGE_BYTES), max_size=12))
def test_the_pages_have_each_pod_once_and_only_one_pod_may_be_larger_than_a_page(sizes: dict[str, int]) -> None:
    pods = cast("list[TrackedPod]", [_Pod(uid) for uid in sizes])
    found, after = list[str](), ""
    while True:
        uids, after = page(pods, after, lambda pod: pod.uid, lambda uid: sizes[uid])
        assert len(uids) <= 1 or sum(sizes[uid] for uid in uids) <= PAGE_BYTES
        found += uids
        if not after:
            break
        assert after == uids[-1]
    assert found == sorted(sizes)
