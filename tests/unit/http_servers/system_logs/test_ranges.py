"""Parts of files below /var/log."""

from __future__ import annotations

import pytest

from actors.http_servers.system_logs.ranges import NoSuchRange, is_unchanged, part

SIZE = 11


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("", None),
        ("bytes=2-4", (2, 3)),
        ("bytes=5-", (5, 6)),
        ("bytes=-3", (8, 3)),
        ("bytes=-30", (0, 11)),
        ("bytes=0-100", (0, 11)),
        ("bytes=", None),
        ("bytes=0-1,3-4", None),
        ("bytes=20-30, 2-4", (2, 3)),
    ],
)
def test_a_range_names_the_first_byte_and_their_number(wanted, expected):
    assert part(wanted, SIZE) == expected


@pytest.mark.parametrize("wanted", ["lines=1", "bytes", "bytes=4-2", "bytes=-", "bytes=a-b", "bytes=--1", "bytes=7"])
def test_a_range_that_cannot_be_read_is_refused(wanted):
    with pytest.raises(NoSuchRange) as refused:
        part(wanted, SIZE)
    assert (refused.value.status, str(refused.value), refused.value.of_size) == (416, "invalid range\n", False)


def test_a_range_behind_the_end_is_refused_with_the_size_of_the_file():
    with pytest.raises(NoSuchRange) as refused:
        part("bytes=50-60", SIZE)
    assert (str(refused.value), refused.value.of_size) == ("invalid range: failed to overlap\n", True)
    assert part("bytes=0-", 0) is None, "an empty file is sent"


def test_a_file_is_unchanged_since_a_time_that_is_not_before_its_own():
    modified = "Sat, 28 Nov 2026 11:29:27 GMT"
    assert is_unchanged(modified, modified)
    assert is_unchanged("Sat, 28 Nov 2026 12:29:27 GMT", modified)
    assert not is_unchanged("Sat, 28 Nov 2026 11:29:26 GMT", modified)
    assert not is_unchanged("yesterday", modified)
    assert not is_unchanged("", modified)
