"""Frames: whatever is written is read back, in pieces of any size; whatever else comes is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.message import Message
from supervision.messaging.wire import (
    LARGE_BYTES,
    MAX_BYTES,
    Ack,
    Frame,
    FrameReader,
    FrameWriter,
    WireError,
    decode,
    encode,
)


class Blob(Message, frozen=True):
    number: int
    data: bytes = b""


def _all(writer: FrameWriter) -> bytes:
    parts = []
    while writer:
        parts.append(writer.take())
    return b"".join(parts)


def _read(data: bytes, cut: int) -> list[Frame | Ack]:
    reader, found = FrameReader(), []
    for at in range(0, len(data), cut):
        found += list(reader.feed(data[at : at + cut]))
    return found


@given(
    sizes=st.lists(st.sampled_from([0, 1, 100, LARGE_BYTES - 200, LARGE_BYTES, 3 * LARGE_BYTES]), max_size=6),
    cut=st.integers(1, 200_000),
)
def test_written_messages_are_read_however_they_are_cut(sizes: list[int], cut: int) -> None:
    writer = FrameWriter()
    for number, size in enumerate(sizes):
        writer.add(encode("me", Blob(number, os.urandom(size)), ask=number))
    frames = _read(_all(writer), max(cut, sum(sizes) // 50 + 1))
    messages = [frame.message() for frame in frames if isinstance(frame, Frame)]
    assert [(m.number, len(m.data)) for m in messages if isinstance(m, Blob)] == list(enumerate(sizes))
    assert len(frames) == len(sizes)
    assert writer.waiting_bytes == 0


def test_a_large_message_travels_in_pieces_and_what_is_sent_after_it_comes_after_it() -> None:
    writer = FrameWriter()
    writer.add(encode("me", Blob(1, bytes(10 * LARGE_BYTES))))
    first = writer.take()
    assert len(first) <= LARGE_BYTES + 4
    writer.add(encode("me", Blob(2)))
    assert [f.message().number for f in _read(first + _all(writer), 1 << 20)] == [1, 2]  # type: ignore[union-attr]


def test_acknowledgements_pass_between_the_pieces_of_a_large_message() -> None:
    writer = FrameWriter()
    writer.add(encode("me", Blob(1, bytes(3 * LARGE_BYTES))))
    data = writer.take()
    writer.add_ack(5)
    found = _read(data + _all(writer), 1)
    assert found[0] == Ack(5)
    assert [f.message().number for f in found[1:]] == [1]  # type: ignore[union-attr]


def test_a_message_within_a_large_one_is_refused() -> None:
    piece = (1 << 31 | 4).to_bytes(4, "big") + bytes(4)
    body = encode("me", Blob(1))
    with pytest.raises(WireError, match="within a large one"):
        _read(piece + len(body).to_bytes(4, "big") + body, 1000)


@given(st.binary(max_size=300))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    try:
        for item in FrameReader().feed(data):
            assert isinstance(item, Frame | Ack)
    except WireError:
        pass


@given(st.binary(max_size=100))
def test_any_body_is_a_frame_or_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


class Named(Message, frozen=True):
    files: tuple[str, ...]
    about: dict[str, list[str]]
    first: Blob


def test_the_name_of_a_file_that_is_not_utf8_is_sent_readable() -> None:
    name = os.fsdecode(b"\xff.yaml")
    named = decode(encode("pod_config", Named((name, "a"), {name: [name]}, Blob(1, b"\xff")))).message()
    shown = "\N{REPLACEMENT CHARACTER}.yaml"
    assert named == Named((shown, "a"), {shown: [shown]}, Blob(1, b"\xff"))


def test_an_unknown_type_is_refused_before_it_is_decoded() -> None:
    body = encode("me", Blob(1)).replace(b"Blob", b"Blub")
    with pytest.raises(WireError, match="unknown message type"):
        decode(body)


def test_fields_that_are_not_those_of_the_type_are_refused_when_it_is_handled() -> None:
    body = encode("me", Blob(1)).replace(b"number", b"nombre")
    with pytest.raises(WireError, match="missing required field"):
        decode(body).message()


def test_a_message_over_64_mib_is_refused_by_both_ends() -> None:
    with pytest.raises(WireError, match="more than"):
        encode("me", Blob(1, bytes(MAX_BYTES)))
    reader = FrameReader()
    piece = (1 << 31 | LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES)
    for _ in range(MAX_BYTES // LARGE_BYTES):
        assert list(reader.feed(piece)) == []
    with pytest.raises(WireError, match="has no end"):
        list(reader.feed(piece + piece))
