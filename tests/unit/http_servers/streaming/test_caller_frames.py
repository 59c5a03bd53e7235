"""Which frames of SPDY a runtime gets from a caller."""

from __future__ import annotations

import zlib

import pytest

from actors.http_servers.streaming import spdy
from actors.http_servers.streaming.caller_frames import DICTIONARY, MOST_BLOCK_BYTES, MOST_HEADERS, CallerFrames
from actors.http_servers.streaming.spdy import SpdyError, SpdyFrameType


def control(kind: int, payload: bytes, length: int | None = None) -> bytes:
    size = len(payload) if length is None else length
    return b"\x80\x03" + kind.to_bytes(2, "big") + b"\0" + size.to_bytes(3, "big") + payload


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def headers(block: bytes, compressor: zlib._Compress | None = None, kind: int = SpdyFrameType.SYN_STREAM) -> bytes:
    packer = zlib.compressobj() if compressor is None else compressor
    packed = packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)
    return control(kind, bytes(10 if kind == SpdyFrameType.SYN_STREAM else 4) + packed)


def pairs(count: int) -> bytes:
    return number(count) + b"".join(number(len(text)) + text for _ in range(count) for text in (b"port", b"80"))


def test_the_frames_of_a_client_pass_in_whatever_pieces_they_come() -> None:
    encoder = spdy.Encoder()
    sent = encoder.open(1, {"streamType": "error"}) + encoder.open(3, {"streamType": "stdin"})
    sent += spdy.data(3, b"x" * 70_000) + control(SpdyFrameType.PING, number(1)) + spdy.data(3, b"", final=True)
    sent += control(SpdyFrameType.SETTINGS, number(1) + bytes(8)) + control(SpdyFrameType.GOAWAY, bytes(8))
    assert CallerFrames().checked(sent) == sent
    frames, passed = CallerFrames(), b""
    for at in range(0, len(sent), 7):
        passed += frames.checked(sent[at : at + 7])
    assert passed == sent


def test_headers_are_read_with_the_dictionary_of_the_protocol_as_go_writes_them() -> None:
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    frames, compressor = CallerFrames(), zlib.compressobj(zdict=DICTIONARY)
    for count in (1, 2, MOST_HEADERS):
        frame = headers(pairs(count), compressor)
        assert frames.checked(frame) == frame


def test_data_is_not_held_back_until_its_frame_is_complete() -> None:
    frames = CallerFrames()
    assert frames.checked(spdy.data(1, b"x" * 100)[:50]) == spdy.data(1, b"x" * 100)[:50]


@pytest.mark.parametrize(
    "frame",
    [
        control(SpdyFrameType.SETTINGS, number(0x7FFFFFFF)),
        control(SpdyFrameType.SETTINGS, number(0x7FFFFFFF), length=0xFFFFFF),
        control(SpdyFrameType.SETTINGS, b""),
        headers(number(20_000_000) + bytes(16)),
        headers(number(20_000_000), kind=SpdyFrameType.HEADERS),
        headers(number(1) + number(1_500_000_000) + b"a"),
        headers(pairs(1)[:-1]),
        headers(pairs(MOST_HEADERS + 1)),
        headers(pairs(1) + bytes(MOST_BLOCK_BYTES)),
        control(SpdyFrameType.SYN_STREAM, bytes(5)),
        control(SpdyFrameType.SYN_STREAM, bytes(10) + b"no zlib"),
        control(SpdyFrameType.SYN_STREAM, bytes(10) + zlib.compress(pairs(1))),
        control(SpdyFrameType.PING, number(1) + control(SpdyFrameType.SETTINGS, number(0x7FFFFFFF))),
        control(17, b""),
        b"\x80\x02\x00\x06\x00\x00\x00\x04" + number(1),
    ],
)
def test_a_frame_that_would_fill_the_memory_of_the_runtime_is_refused(frame: bytes) -> None:
    with pytest.raises(SpdyError):
        CallerFrames().checked(frame + bytes(8))


def test_what_is_left_of_one_frames_headers_does_not_begin_the_next_ones() -> None:
    frames, compressor = CallerFrames(), zlib.compressobj()
    with pytest.raises(SpdyError, match="not complete"):
        frames.checked(headers(number(0) + number(20_000_000), compressor))
