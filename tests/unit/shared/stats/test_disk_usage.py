"""The file systems of images and of containers' writable layers."""

from __future__ import annotations

from actors.shared.cri.stats import FileSystem
from actors.shared.stats.disk_usage import store_figures

WHOLE = {"/images": {"capacity_bytes": 1000, "used_bytes": 700, "inodes_used": 70}, "/other": {"capacity_bytes": 5}}


def test_what_a_store_uses_is_what_the_runtime_says_and_the_rest_is_its_file_systems() -> None:
    store = FileSystem(at_ns=1, mountpoint="/images", used_bytes=0, inodes_used=3)
    assert store_figures([store], WHOLE) == {"capacity_bytes": 1000, "used_bytes": 0, "inodes_used": 3}
    assert store_figures([FileSystem(at_ns=1, mountpoint="/images", inodes_used=0)], WHOLE)["used_bytes"] == 700
    assert store_figures([FileSystem(at_ns=1, mountpoint="/images", used_bytes=9)], WHOLE)["inodes_used"] == 70
    assert WHOLE["/images"]["used_bytes"] == 700, "another reader has the same figures"


def test_of_several_stores_the_first_counts_and_one_that_cannot_be_measured_has_no_figures() -> None:
    images, other, gone = (FileSystem(at_ns=1, mountpoint=path) for path in ("/images", "/other", "/gone"))
    assert store_figures([other, images], WHOLE) == WHOLE["/other"]
    assert store_figures([gone, images], WHOLE) == store_figures([], WHOLE) == {}
