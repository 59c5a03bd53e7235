"""Channels of a WebSocket and streams of SPDY."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders
from websocket import ABNF

from actors.http_servers.streaming import spdy, websocket
from actors.http_servers.streaming.lost_status import RUNTIME_LEFT, lost_status
from actors.http_servers.streaming.options import Streams
from actors.http_servers.streaming.spdy import SpdyError, SpdyFrameType
from actors.http_servers.streaming.stream_translator import (
    CLOSE,
    ERROR,
    STDIN,
    STDOUT,
    TUNNEL,
    V5,
    Channels,
    Tunnel,
    protocol,
    upstream_headers,
)
from tests.support.spdy_runtime import SpdyRuntime, control

ALL = Streams(stdin=True, stdout=True, stderr=True, tty=False)
TERMINAL = Streams(stdin=True, stdout=True, stderr=False, tty=True)


def sent(*payload: int | bytes, kind: int = ABNF.OPCODE_BINARY) -> bytes:
    data = b"".join(bytes([one]) if isinstance(one, int) else one for one in payload)
    return bytes(ABNF(1, 0, 0, 0, kind, 1, data).format())


def begun(wanted: Streams = ALL) -> tuple[Channels, SpdyRuntime]:
    channels, runtime = Channels(wanted), SpdyRuntime()
    runtime.feed(channels.start().to_runtime)
    return channels, runtime


def message(channel: int, payload: bytes) -> bytes:
    return websocket.frame(websocket.Opcode.BINARY, bytes([channel]) + payload)


@pytest.mark.parametrize(
    ("wanted", "types"),
    [(ALL, ["error", "stdin", "stdout", "stderr"]), (TERMINAL, ["error", "stdin", "stdout", "resize"])],
)
def test_the_streams_of_the_process_are_requested_from_the_runtime_the_error_first(wanted, types):
    _, runtime = begun(wanted)
    assert [headers["streamtype"] for headers in runtime.streams.values()] == types
    assert list(runtime.streams) == [1, 3, 5, 7]


def test_input_goes_to_the_process_and_its_end_too():
    channels, runtime = begun()
    runtime.feed(channels.from_caller(sent(STDIN, b"one") + sent(STDIN, b"two")).to_runtime)
    assert (runtime.heard["stdin"], runtime.ended) == (b"onetwo", [])
    runtime.feed(channels.from_caller(sent(CLOSE, STDIN)).to_runtime)
    assert runtime.ended == ["stdin"]
    assert channels.from_caller(sent(STDIN, b"late")).to_runtime == b""


def test_sizes_of_a_terminal_are_passed_on():
    channels, runtime = begun(TERMINAL)
    runtime.feed(channels.from_caller(sent(4, b'{"Width":80}')).to_runtime)
    assert json.loads(runtime.heard["resize"]) == {"Width": 80}


@pytest.mark.parametrize("payload", [b"\x01x", b"\x09x", b"\xff\x01", b"\xff", b"\x00", b""])
def test_input_for_an_unknown_channel_is_dropped(payload):
    channels, _ = begun()
    assert channels.from_caller(sent(payload)).to_runtime == b""


def test_output_and_the_status_come_back_and_the_end_after_all_of_it():
    channels, runtime = begun()
    assert channels.from_runtime(runtime.says("stdout", b"out")).to_caller == message(STDOUT, b"out")
    assert not channels.from_runtime(runtime.says("stderr", b"", final=True)).ended
    assert not channels.from_runtime(runtime.says("error", b'{"status":"Success"}', final=True)).ended
    last = channels.from_runtime(runtime.says("stdout", b"more", final=True))
    assert last.to_caller == message(STDOUT, b"more") + websocket.close_frame()
    assert last.ended


def test_a_status_is_not_lost_when_the_runtime_resets_what_is_left():
    channels, runtime = begun()
    said = runtime.says("error", b"status", final=True)
    resets = b"".join(control(SpdyFrameType.RST_STREAM, one.to_bytes(4, "big") + bytes(4)) for one in runtime.streams)
    found = channels.from_runtime(said + resets)
    assert (found.to_caller, found.ended) == (message(ERROR, b"status") + websocket.close_frame(), True)


def test_a_runtime_that_goes_away_ends_the_stream_and_without_a_status_that_is_a_failure():
    channels, runtime = begun()
    found = channels.from_runtime(control(SpdyFrameType.GOAWAY, bytes(8)))
    assert (found.to_caller, found.ended) == (message(ERROR, lost_status(RUNTIME_LEFT)) + websocket.close_frame(), True)
    channels, runtime = begun()
    status = runtime.says("error", b"status", final=True)
    found = channels.from_runtime(status + control(SpdyFrameType.GOAWAY, bytes(8)))
    assert (found.to_caller, found.ended) == (message(ERROR, b"status") + websocket.close_frame(), True)


def test_streams_that_all_end_without_a_status_are_a_failure():
    channels, runtime = begun()
    ends = b"".join(runtime.says(kind, b"", final=True) for kind in ("stdout", "stderr", "error"))
    found = channels.from_runtime(runtime.says("stdout", b"half") + ends)
    lost = message(ERROR, lost_status(RUNTIME_LEFT))
    assert found.to_caller == message(STDOUT, b"half") + lost + websocket.close_frame()


def test_the_failure_is_a_status_of_the_api():
    status = json.loads(lost_status(RUNTIME_LEFT))
    assert (status["kind"], status["status"], status["reason"], status["code"]) == (
        "Status", "Failure", "InternalError", 500,
    )  # fmt: skip


def test_pings_of_either_side_are_answered():
    channels, _ = begun()
    ping = control(SpdyFrameType.PING, b"\0\0\0\2")
    assert channels.from_runtime(ping + control(SpdyFrameType.SETTINGS, b"\0\0\0\0")).to_runtime == ping
    answer = channels.from_caller(sent(b"x", kind=ABNF.OPCODE_PING)).to_caller
    assert answer == websocket.frame(websocket.Opcode.PONG, b"x")


def test_a_caller_that_closes_is_answered_and_the_stream_ends():
    channels, _ = begun()
    found = channels.from_caller(sent(b"\x03\xe8", kind=ABNF.OPCODE_CLOSE))
    assert (found.to_caller, found.ended) == (websocket.close_frame(), True)


@given(st.binary(max_size=300))
def test_any_bytes_of_a_runtime_are_frames_or_an_error(received):
    channels, _ = begun()
    with contextlib.suppress(SpdyError):
        channels.from_runtime(received)


@given(st.lists(st.tuples(st.sampled_from([5, 7]), st.binary(max_size=50)), max_size=8), st.data())
def test_frames_of_a_runtime_are_read_however_they_are_cut(said, data):
    whole = b"".join(spdy.data(stream, payload) for stream, payload in said)
    decoder, found, at = spdy.SpdyDecoder(), [], 0
    while at < len(whole):
        end = data.draw(st.integers(at + 1, len(whole)))
        found += list(decoder.feed(whole[at:end]))
        at = end
    assert found == [spdy.SpdyDataFrame(stream, payload, False) for stream, payload in said]


def test_a_runtime_of_another_version_is_an_error():
    with pytest.raises(SpdyError, match="SPDY/2"):
        list(spdy.SpdyDecoder().feed(b"\x80\x02\0\x06\0\0\0\4\0\0\0\1"))


def test_a_tunnel_passes_the_bytes_of_a_connection():
    tunnel = Tunnel()
    ping = b"\x80\x03\0\6\0\0\0\4\0\0\0\1"
    assert tunnel.from_caller(sent(ping[:2]) + sent(ping[2:])).to_runtime == ping
    with pytest.raises(SpdyError):
        tunnel.from_caller(sent(b"\x80\x03\0\4\0\0\0\4\x7f\xff\xff\xff"))
    assert tunnel.from_runtime(b"back").to_caller == websocket.frame(websocket.Opcode.BINARY, b"back")


@pytest.mark.parametrize(
    ("offered", "stream_protocol"),
    [
        (["v5.channel.k8s.io", "v4.channel.k8s.io"], V5),
        (["v5.channel.k8s.io,v4.channel.k8s.io"], V5),
        (["SPDY/3.1+portforward.k8s.io"], TUNNEL),
        (["v4.channel.k8s.io"], ""),
        ([], ""),
    ],
)
def test_only_protocols_that_a_runtime_lacks_are_translated(offered, stream_protocol):
    headers = HTTPHeaders({"Upgrade": "WebSocket", "Sec-WebSocket-Key": "k"})
    for one in offered:
        headers.add("Sec-WebSocket-Protocol", one)
    assert protocol(headers) == stream_protocol
    headers["Upgrade"] = "SPDY/3.1"
    assert protocol(headers) == ""


def test_the_request_to_the_runtime_is_for_spdy_and_has_no_header_of_the_caller():
    asked = HTTPHeaders({"Upgrade": "websocket", "Authorization": "Bearer x", "User-Agent": "kubectl"})
    assert dict(upstream_headers(asked, V5)) == {
        "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io", "User-Agent": "kubectl",
    }  # fmt: skip
    assert upstream_headers(asked, TUNNEL)["X-Stream-Protocol-Version"] == "portforward.k8s.io"
