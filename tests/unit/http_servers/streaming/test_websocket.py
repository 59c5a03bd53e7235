"""Frames of a WebSocket, held against another implementation."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websocket import ABNF

from actors.http_servers.streaming.websocket import (
    MOST_BYTES,
    Opcode,
    WebSocketDecoder,
    WebSocketError,
    accepted,
    close_frame,
    frame,
)


def sent(payload: bytes, kind: int = ABNF.OPCODE_BINARY, *, final: int = 1) -> bytes:
    """As a client sends it."""
    return bytes(ABNF(final, 0, 0, 0, kind, 1, payload).format())


@given(st.lists(st.binary(max_size=70_000), max_size=4), st.data())
def test_messages_are_read_however_they_are_cut(payloads, data):
    whole = b"".join(map(sent, payloads))
    decoder, found, at = WebSocketDecoder(), [], 0
    while at < len(whole):
        end = data.draw(st.integers(at + 1, len(whole)))
        found += list(decoder.feed(whole[at:end]))
        at = end
    assert found == [(Opcode.BINARY, payload) for payload in payloads]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536])
def test_a_frame_is_complete_with_its_last_byte_whatever_form_its_length_has(size):
    payload = bytes(range(256)) * 257
    whole, decoder = sent(payload[:size]), WebSocketDecoder()
    for at in range(min(len(whole) - 1, 20)):
        assert list(decoder.feed(whole[at : at + 1])) == []
    at = min(len(whole) - 1, 20)
    assert list(decoder.feed(whole[at:-1])) == []
    assert list(decoder.feed(whole[-1:])) == [(Opcode.BINARY, payload[:size])]


def test_a_ping_has_up_to_125_bytes():
    assert list(WebSocketDecoder().feed(sent(bytes(125), ABNF.OPCODE_PING))) == [(Opcode.PING, bytes(125))]


def test_fragments_are_one_message_and_a_ping_may_come_between():
    parts = [sent(b"a", final=0), sent(b"p", ABNF.OPCODE_PING), sent(b"b", ABNF.OPCODE_CONT)]
    assert list(WebSocketDecoder().feed(b"".join(parts))) == [(Opcode.PING, b"p"), (Opcode.BINARY, b"ab")]


@given(st.binary(max_size=400))
def test_any_bytes_are_messages_or_a_refusal(data):
    with contextlib.suppress(WebSocketError):
        list(WebSocketDecoder().feed(data))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x82\x01a", 1002),
        (b"\xc2\x81aaaab", 1002),
        (b"\x83\x80aaaa", 1002),
        (sent(b"x", ABNF.OPCODE_CONT), 1002),
        (sent(b"x", final=0) + sent(b"y"), 1002),
        (b"\x89\xfe\x00\x80", 1002),
        (sent(bytes(MOST_BYTES + 1)), 1009),
        (sent(bytes(MOST_BYTES), final=0) + sent(b"x", ABNF.OPCODE_CONT), 1009),
    ],
    ids=[
        "no mask",
        "reserved",
        "opcode",
        "nothing to continue",
        "two begun",
        "long ping",
        "long frame",
        "long message",
    ],
)
def test_a_malformed_frame_is_refused_with_its_code(data, code):
    with pytest.raises(WebSocketError) as caught:
        list(WebSocketDecoder().feed(data))
    assert caught.value.code == code


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_a_sent_frame_has_its_length_and_no_mask(size):
    written = frame(Opcode.BINARY, bytes(size))
    assert written == ABNF(1, 0, 0, 0, ABNF.OPCODE_BINARY, 0, bytes(size)).format()


def test_a_close_has_a_reason():
    assert close_frame(1009, "x" * 200) == b"\x88\x7d\x03\xf1" + b"x" * 123


def test_the_handshake_proves_that_the_key_was_read():
    head = accepted("dGhlIHNhbXBsZSBub25jZQ==", "v5.channel.k8s.io").decode()
    assert head.startswith("HTTP/1.1 101 ")
    assert "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head  # the example of RFC 6455
    assert head.endswith("\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n")
