"""How a command over SPDY has ended, as far as the runtime has told it."""

from __future__ import annotations

import pytest

from actors.http_servers.streaming import spdy
from actors.http_servers.streaming.lost_status import RUNTIME_LEFT, lost_status
from actors.http_servers.streaming.passed_status import PassedStatus
from actors.http_servers.streaming.spdy import SpdyFrameType
from tests.support.spdy_runtime import control

ERRORS, STDOUT = 1, 3
REPLIES = b"".join(control(SpdyFrameType.SYN_REPLY, bytes([0, 0, 0, one, 0, 0])) for one in (ERRORS, STDOUT))
OUTPUT = spdy.data(STDOUT, b"half")
STATUS = spdy.data(ERRORS, b'{"status":"Success"}')
RESET = control(SpdyFrameType.RST_STREAM, bytes([0, 0, 0, ERRORS, 0, 0, 0, 1]))
LOST = spdy.data(ERRORS, lost_status(RUNTIME_LEFT), final=True)


def begun() -> PassedStatus:
    """A caller has opened its streams."""
    status, client = PassedStatus(), spdy.Encoder()
    opened = client.open(ERRORS, {"streamType": "error"}) + client.open(STDOUT, {"streamType": "stdout"})
    for one in opened:
        status.from_caller(bytes([one]))
    return status


@pytest.mark.parametrize("size", [1, 5, 13, 1000])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (REPLIES + OUTPUT, LOST),
        (REPLIES + OUTPUT + STATUS, b""),
        (REPLIES + STATUS + control(SpdyFrameType.GOAWAY, bytes(8)), b""),
        (REPLIES + OUTPUT + control(SpdyFrameType.GOAWAY, bytes(8)), LOST),
        (control(SpdyFrameType.RST_STREAM, bytes([0, 0, 0, STDOUT, 0, 0, 0, 1])), LOST),
    ],
)
def test_a_command_without_a_status_has_failed(said: bytes, told: bytes, size: int) -> None:
    status = begun()
    for at in range(0, len(said), size):
        status.from_runtime(said[at : at + size])
    assert status.last_words(RUNTIME_LEFT) == told


@pytest.mark.parametrize(
    "said",
    [spdy.data(ERRORS, b"", final=True), control(SpdyFrameType.RST_STREAM, bytes([0, 0, 0, ERRORS, 0, 0, 0, 1]))],
)
def test_in_old_versions_a_success_is_the_mere_end_of_the_stream_of_errors(said: bytes) -> None:
    status = begun()
    status.from_runtime(REPLIES + OUTPUT + said)
    assert status.last_words(RUNTIME_LEFT) == b""


def test_amid_a_frame_nothing_can_be_told() -> None:
    for left in range(1, len(OUTPUT)):
        status = begun()
        status.from_runtime(OUTPUT[:-left])
        assert status.last_words(RUNTIME_LEFT) == b""


def test_a_caller_without_streams_or_without_spdy_is_told_nothing() -> None:
    status = PassedStatus()
    assert status.last_words(RUNTIME_LEFT) == b""
    status.from_caller(b"\x80\x02\0\x01" + bytes(40))
    status.from_caller(spdy.Encoder().open(ERRORS, {}))
    assert status.last_words(RUNTIME_LEFT) == b""
