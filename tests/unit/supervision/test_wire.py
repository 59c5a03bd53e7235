"""Frames: whatever is written is read back, in pieces of any size; whatever else comes is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.message import Message
from supervision.wire import LARGE_BYTES, MAX_BYTES, Ack, Frame, Reader, WireError, Writer, ack, decode, encode


class Blob(Message, frozen=True):
    number: int
    data: bytes = b""


def _all(writer: Writer) -> bytes:
    parts = []
    while writer:
        parts.append(writer.take())
    return b"".join(parts)


def _read(data: bytes, cut: int) -> list[Frame | Ack]:
    reader, found = Reader(), []
    for at in range(0, len(data), cut):
        found += list(reader.feed(data[at : at + cut]))
    return found


@given(
    sizes=st.lists(st.sampled_from([0, 1, 100, LARGE_BYTES - 200, LARGE_BYTES, 3 * LARGE_BYTES]), max_size=6),
    cut=st.integers(1, 200_000),
)
def test_what_is_written_is_read_back_however_it_is_cut(sizes: list[int], cut: int) -> None:
    writer = Writer()
    for number, size in enumerate(sizes):
        writer.add(encode("me", Blob(number, os.urandom(size)), ask=number))
    frames = _read(_all(writer), max(cut, sum(sizes) // 50 + 1))
    assert all(isinstance(frame, Frame) for frame in frames)
    messages = {frame.ask: frame.message() for frame in frames if isinstance(frame, Frame)}
    assert sorted(messages) == list(range(len(sizes)))
    assert all(isinstance(m, Blob) and len(m.data) == sizes[number] for number, m in messages.items())


def test_small_messages_pass_between_the_pieces_of_a_large_one() -> None:
    writer = Writer()
    writer.add(encode("me", Blob(1, bytes(10 * LARGE_BYTES))))
    data = writer.take() + writer.take()
    writer.add(encode("me", Blob(2)))
    data += _all(writer)
    assert [f.message().number for f in _read(data, 1 << 20)] == [2, 1]  # type: ignore[union-attr]


def test_order_is_kept_among_small_and_among_large_messages() -> None:
    writer = Writer()
    for number in range(6):
        writer.add(encode("me", Blob(number, bytes(number % 2 * 2 * LARGE_BYTES))))
    frames = _read(_all(writer), 1 << 20)
    assert [f.message().number for f in frames] == [0, 2, 4, 1, 3, 5]  # type: ignore[union-attr]


def test_acknowledgements_pass_between_frames() -> None:
    data = ack(3, large=False) + ack(1, large=True)
    assert _read(data, 1) == [Ack(3, False), Ack(1, True)]


@given(st.binary(max_size=300))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    try:
        for item in Reader().feed(data):
            assert isinstance(item, Frame | Ack)
    except WireError:
        pass


@given(st.binary(max_size=100))
def test_any_body_is_a_frame_or_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


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
    reader = Reader()
    piece = (1 << 31 | LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES)
    for _ in range(MAX_BYTES // LARGE_BYTES):
        assert list(reader.feed(piece)) == []
    with pytest.raises(WireError, match="has no end"):
        list(reader.feed(piece + piece))
