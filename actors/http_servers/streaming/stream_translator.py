"""Translates a caller's WebSocket to the SPDY of the runtime, as in the kubelet (gate ExtendWebSocketsToKubelet).

v5.channel.k8s.io of exec and attach: a message is the number of a channel and bytes; channel 255 closes the channel in
the next byte, which the earlier versions cannot. SPDY/3.1+portforward.k8s.io: messages are pieces of a SPDY connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import msgspec
from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream, StreamClosedError

from actors.http_servers.serving.loop_turns import LoopTurns

from . import spdy, websocket
from .caller_frames import CallerFrames
from .joined_streams import CHUNK_BYTES, Activity, drop_input, run, write_last
from .lost_status import RUNTIME_LEFT, lost_status
from .options import Streams
from .spdy import SpdyControlFrame, SpdyDataFrame, SpdyError, SpdyFrameType
from .websocket import Opcode, WebSocketError

V5: Final = "v5.channel.k8s.io"
TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"
_STREAMS_BY: Final = {V5: "v4.channel.k8s.io", TUNNEL: "portforward.k8s.io"}
"""The protocol of the streams towards the runtime."""
FROM_CALLER_BYTES: Final = 16 << 10
"""Bytes per read. As messages of a few bytes they take some 20 ms, during which no other request is served."""
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_TYPES: Final = {ERROR: "error", STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", RESIZE: "resize"}


def protocol(headers: HTTPHeaders) -> str:
    """The protocol of a WebSocket that needs translation; '' for any other request."""
    if headers.get("Upgrade", "").lower() != "websocket" or not headers.get("Sec-WebSocket-Key"):
        return ""
    offered = {one.strip() for value in headers.get_list("Sec-WebSocket-Protocol") for one in value.split(",")}
    return next((one for one in (V5, TUNNEL) if one in offered), "")


def upstream_headers(headers: HTTPHeaders, stream_protocol: str) -> HTTPHeaders:
    """The headers of the request to the runtime."""
    found = HTTPHeaders({"Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": _STREAMS_BY[stream_protocol]})
    if "User-Agent" in headers:
        found["User-Agent"] = headers["User-Agent"]
    return found


class Ends(msgspec.Struct, frozen=True):
    """The bytes to write to either end, and whether they are the last."""

    to_caller: bytes = b""
    to_runtime: bytes = b""
    ended: bool = False


def _together(parts: Iterable[Ends]) -> Ends:
    """The results joined, up to the end of the stream."""
    to_caller, to_runtime = [], []
    for one in parts:
        to_caller.append(one.to_caller)
        to_runtime.append(one.to_runtime)
        if one.ended:
            return Ends(b"".join(to_caller), b"".join(to_runtime), ended=True)
    return Ends(b"".join(to_caller), b"".join(to_runtime))


class Translation(Protocol):
    """Translates the bytes of one side for the other."""

    def start(self) -> Ends:
        """The first bytes to write."""

    def from_caller(self, received: bytes) -> Ends:
        """Raises WebSocketError, SpdyError."""

    def from_runtime(self, received: bytes) -> Ends:
        """Raises SpdyError."""

    def last_words(self, cause: str) -> bytes:
        """What the caller is told before the close of a stream that ends by this cause."""


class Channels:
    """Channels of a WebSocket as streams of SPDY."""

    def __init__(self, wanted: Streams) -> None:
        flags = {STDIN: wanted.stdin, STDOUT: wanted.stdout, STDERR: wanted.stderr, RESIZE: wanted.tty, ERROR: True}
        self._streams = {channel: 2 * place + 1 for place, channel in enumerate(one for one in _TYPES if flags[one])}
        self._channels = {stream: channel for channel, stream in self._streams.items()}
        self._inputs = {channel for channel in (STDIN, RESIZE) if channel in self._streams}
        self._open = {channel for channel in (STDOUT, STDERR, ERROR) if channel in self._streams}
        self._has_status = False
        self._frames, self._spdy, self._encoder = websocket.WebSocketDecoder(), spdy.SpdyDecoder(), spdy.Encoder()

    def start(self) -> Ends:
        streams = [self._encoder.open(stream, {"streamType": _TYPES[one]}) for one, stream in self._streams.items()]
        # an empty message shows the caller that the stream is open
        first = next((one for one in (STDOUT, STDERR, ERROR) if one in self._streams), ERROR)
        return Ends(to_caller=_message(first, b""), to_runtime=b"".join(streams))

    def from_caller(self, received: bytes) -> Ends:
        return _together(self._message_of(*one) for one in self._frames.feed(received))

    def _message_of(self, kind: Opcode, payload: bytes) -> Ends:
        if kind in (Opcode.BINARY, Opcode.TEXT) and payload:
            return Ends(to_runtime=self._input(payload))
        return _control_answer(kind, payload)

    def _input(self, payload: bytes) -> bytes:
        channel = payload[0]
        if channel == CLOSE and len(payload) == 2 and payload[1] in self._inputs:
            self._inputs.remove(payload[1])
            return spdy.data(self._streams[payload[1]], b"", final=True)
        if channel not in self._inputs or len(payload) == 1:
            return b""  # as in the kubelet, data for a channel that is not open is dropped
        return spdy.data(self._streams[channel], payload[1:])

    def from_runtime(self, received: bytes) -> Ends:
        return _together(self._frame_of(one) for one in self._spdy.feed(received))

    def _frame_of(self, one: SpdyDataFrame | SpdyControlFrame) -> Ends:
        to_caller, to_runtime = b"", b""
        if isinstance(one, SpdyDataFrame):
            channel = self._channels.get(one.stream, -1)
            if channel in self._open and one.payload:
                to_caller = _message(channel, one.payload)
                self._has_status = self._has_status or channel == ERROR
            if one.final:
                self._open.discard(channel)
        elif one.kind == SpdyFrameType.PING:
            to_runtime = spdy.pong(one)
        elif one.kind == SpdyFrameType.RST_STREAM or (one.kind == SpdyFrameType.SYN_REPLY and one.final):
            self._open.discard(self._channels.get(one.stream, -1))
        if self._open and not _is_goaway(one):
            return Ends(to_caller, to_runtime)
        return Ends(to_caller + self.last_words(RUNTIME_LEFT) + websocket.close_frame(), to_runtime, ended=True)

    def last_words(self, cause: str) -> bytes:
        return b"" if self._has_status else _message(ERROR, lost_status(cause))


def _is_goaway(one: SpdyDataFrame | SpdyControlFrame) -> bool:
    return isinstance(one, SpdyControlFrame) and one.kind == SpdyFrameType.GOAWAY


def _message(channel: int, payload: bytes) -> bytes:
    return websocket.frame(Opcode.BINARY, bytes([channel]) + payload)


class Tunnel:
    """A SPDY connection in messages."""

    def __init__(self) -> None:
        self._frames, self._spdy = websocket.WebSocketDecoder(), CallerFrames()

    def start(self) -> Ends:
        return Ends()

    def from_caller(self, received: bytes) -> Ends:
        return _together(
            Ends(to_runtime=self._spdy.checked(payload)) if kind is Opcode.BINARY else _control_answer(kind, payload)
            for kind, payload in self._frames.feed(received)
        )

    def from_runtime(self, received: bytes) -> Ends:
        return Ends(to_caller=websocket.frame(Opcode.BINARY, received))

    def last_words(self, cause: str) -> bytes:
        return b""


def _control_answer(kind: Opcode, payload: bytes) -> Ends:
    if kind is Opcode.CLOSE:
        return Ends(to_caller=websocket.frame(Opcode.CLOSE, payload), ended=True)
    return Ends(to_caller=websocket.frame(Opcode.PONG, payload)) if kind is Opcode.PING else Ends()


async def join_translated(
    caller: IOStream, runtime: IOStream, translation: Translation, idle_seconds: float, turns: LoopTurns
) -> None:
    """Join the streams as `joined_streams.join` does, with a translation in between."""

    async def write(ends: Ends) -> bool:
        """Returns whether the stream continues."""
        written = [end.write(part) for end, part in ((caller, ends.to_caller), (runtime, ends.to_runtime)) if part]
        if written:
            await asyncio.wait([asyncio.ensure_future(one) for one in written])
        # reading does not pause while data is available, and some messages have no answer
        await asyncio.sleep(0)
        return not ends.ended

    async def read(source: IOStream, size: int, translate: Callable[[bytes], Ends], activity: Activity) -> None:
        try:
            while True:
                received = await source.read_bytes(size, partial=True)
                activity.seen()
                await turns.take()
                if not await write(translate(received)):
                    break
        except StreamClosedError:
            if source is caller:
                await drop_input(caller, turns)
                return
            last = translation.last_words(RUNTIME_LEFT) + websocket.close_frame()
        except WebSocketError as error:
            last = websocket.close_frame(error.code, str(error))
        except SpdyError as error:
            last = translation.last_words(RUNTIME_LEFT) + websocket.close_frame(1011, str(error))
        else:
            return
        await write_last(caller, last)

    await write(translation.start())
    await run(
        caller,
        runtime,
        idle_seconds,
        Activity(turns),
        lambda activity: read(caller, FROM_CALLER_BYTES, translation.from_caller, activity),
        lambda activity: read(runtime, CHUNK_BYTES, translation.from_runtime, activity),
        lambda cause: translation.last_words(cause) + websocket.close_frame(),
    )
