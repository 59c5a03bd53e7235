"""Splitting a watch in protobuf into frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.api.frames import Frames, FrameTooLong


def framed(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4) + frame for frame in frames)


@given(st.lists(st.binary(min_size=1, max_size=20)), st.data())
def test_the_frames_are_the_same_however_they_are_cut(frames: list[bytes], data: st.DataObject) -> None:
    stream, reader, found = framed(*frames), Frames(), list[bytes]()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert found == frames


def test_empty_frames_are_skipped_and_a_part_is_kept() -> None:
    reader = Frames()
    assert reader.feed(framed(b"", b"a", b"") + b"\x00\x00") == [b"a"]
    assert reader.feed(b"\x00\x02b") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"c" + framed(b"d")) == [b"bc", b"d"]


@pytest.mark.parametrize("before", [b"", framed(b"1234")])
def test_a_frame_that_is_too_long_is_refused_at_its_head(before: bytes) -> None:
    reader = Frames(limit=4)
    with pytest.raises(FrameTooLong, match="a frame of 5 bytes"):
        reader.feed(before + (5).to_bytes(4))
    with pytest.raises(FrameTooLong):
        Frames().feed(b'{"type":"ADDED"')
