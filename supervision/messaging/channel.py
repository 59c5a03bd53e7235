"""A connection on the actor's loop. Frames are joined into few writes.

StreamWriter is not used: its per-write cost is high, and on Python 3.13 it collapses under a deep queue.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from .names import check_peer
from .wire import Ack, Frame, FrameReader, FrameWriter, WireError

_HIGH_WATER = 256 * 1024
WINDOW_BYTES = 1024 * 1024
"""A sender waits while a receiver has this many of its bytes unacknowledged; the last message may exceed the limit."""
_ACK_MESSAGES, _ACK_BYTES = 64, WINDOW_BYTES // 4
STUCK_BYTES = 128 * 1024 * 1024
"""A peer that does not read is disconnected when its unsent answers exceed this."""


class Flusher:
    """Joins the writes of one turn of the loop: channels are flushed once, when the hold ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._dirty: list[Channel] = []
        self._scheduled = False
        self._holders = 0

    def dirty(self, channel: Channel) -> None:
        self._dirty.append(channel)
        if not self._holders and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def hold(self) -> None:
        """Held while an actor's code runs; the channels are flushed after it."""
        self._holders += 1

    def let_go(self) -> None:
        self._holders -= 1
        if not self._holders and self._dirty:
            self.flush()

    def flush(self) -> None:
        self._scheduled = False
        channels, self._dirty = self._dirty, []
        for channel in channels:
            channel.flush()


class ChannelOwner(Protocol):
    """Receives the events of a channel."""

    def opened(self, channel: Channel) -> bool:
        """Whether the peer is accepted; if not, the connection is closed."""

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        """Bytes have arrived. `frames`: those that they complete; none while a large message is incomplete."""

    def acknowledged(self, channel: Channel, ack: Ack) -> None: ...
    def closed(self, channel: Channel, error: WireError | None) -> None: ...


class Channel(asyncio.Protocol):
    """The protocol of a connection."""

    def __init__(self, owner: ChannelOwner, flusher: Flusher) -> None:
        self._owner, self._flusher = owner, flusher
        self._reader, self._writer = FrameReader(), FrameWriter()
        self._transport: asyncio.Transport | None = None
        self._dirty = self._paused = False
        self._error: WireError | None = None
        self._unacked = self._unacked_bytes = 0
        self.is_open = False

    # -- asyncio's side -------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self.is_open = True
        if not self._owner.opened(self):
            self.abort()

    def data_received(self, data: bytes) -> None:
        frames: list[Frame] = []
        try:
            for item in self._reader.feed(data):
                if isinstance(item, Frame):
                    frames.append(item)
                else:
                    self._owner.acknowledged(self, item)
        except WireError as error:
            self.refuse(error)
        self._owner.received(self, frames)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._owner.closed(self, self._error)

    # -- the owner's side -----------------------------------------------------------------------------------------
    def write(self, body: bytes) -> None:
        """Send a frame's body, soon."""
        if not self.is_open:
            return
        if self._writer.waiting_bytes > STUCK_BYTES:
            self.abort()
            return
        self._writer.add(body)
        self._mark()

    def handled(self, size: int) -> bool:
        """Count a message of `size` bytes as handled. Returns whether to acknowledge now."""
        self._unacked += 1
        self._unacked_bytes += size
        return self._unacked >= _ACK_MESSAGES or self._unacked_bytes >= _ACK_BYTES

    def acknowledge(self) -> None:
        """Acknowledge handled messages to the sender."""
        if self._unacked and self.is_open:
            self._writer.add_ack(self._unacked)
            self._unacked = self._unacked_bytes = 0
            self._mark()

    @property
    def incomplete_bytes(self) -> int:
        """The bytes received of an incomplete large message."""
        return self._reader.incomplete_bytes

    def flush(self) -> None:
        """Write as much as the kernel takes."""
        self._dirty = False
        while self._writer and not self._paused and self.is_open and self._transport is not None:
            self._transport.write(self._writer.take())

    @property
    def unsent(self) -> bool:
        """Whether bytes are still waiting in this process."""
        if not self.is_open or self._transport is None:
            return False
        return bool(self._writer) or self._transport.get_write_buffer_size() > 0

    def check_peer(self) -> int:
        """The pid of the other end. Raises PeerRefused when it is not of our user."""
        return check_peer(self._transport.get_extra_info("socket")) if self._transport is not None else 0

    def refuse(self, error: WireError) -> None:
        """Drop the connection: its data is not valid."""
        if self._error is None:
            self._error = error
        self.abort()

    def abort(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _mark(self) -> None:
        if not self._dirty:
            self._dirty = True
            self._flusher.dirty(self)
