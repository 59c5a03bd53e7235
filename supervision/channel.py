"""One connection on the actor's loop: frames in, frames out, joined into few writes.

StreamWriter is not used: its per-write cost is high, and on Python 3.13 it collapses under a deep queue.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from .names import check_peer
from .wire import Ack, Frame, Reader, WireError, Writer

_HIGH_WATER = 256 * 1024
WINDOW_BYTES = 1024 * 1024
"""What a sender may have unacknowledged at one receiver before it waits; the last message may exceed it."""
_ACK_MESSAGES, _ACK_BYTES = 64, WINDOW_BYTES // 4
STUCK_BYTES = 128 * 1024 * 1024
"""What a peer that does not read may owe us in answers before it is disconnected."""


class Flusher:
    """Writes of one turn of the loop are joined: channels are flushed once, when whoever holds it lets go."""

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
        """Whoever runs an actor's code holds it meanwhile, and lets go after that."""
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
    """Who is told what happens on a channel."""

    def opened(self, channel: Channel) -> bool:
        """Whether the peer is to be talked to; if not, the connection is closed."""

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        """Bytes have come, and with them these frames; none while a large one is on its way."""

    def acknowledged(self, channel: Channel, ack: Ack) -> None: ...
    def closed(self, channel: Channel, error: WireError | None) -> None: ...


class Channel(asyncio.Protocol):
    """The protocol of a connection."""

    def __init__(self, owner: ChannelOwner, flusher: Flusher) -> None:
        self._owner, self._flusher = owner, flusher
        self._reader, self._writer = Reader(), Writer()
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
        """Count a message of so many bytes as handled; whether that is to be acknowledged now."""
        self._unacked += 1
        self._unacked_bytes += size
        return self._unacked >= _ACK_MESSAGES or self._unacked_bytes >= _ACK_BYTES

    def acknowledge(self) -> None:
        """Tell the sender what was handled."""
        if self._unacked and self.is_open:
            self._writer.add_ack(self._unacked)
            self._unacked = self._unacked_bytes = 0
            self._mark()

    @property
    def unfinished(self) -> int:
        """Bytes of a large message whose end has not come yet."""
        return self._reader.unfinished

    def flush(self) -> None:
        """Hand the system what it takes."""
        self._dirty = False
        while self._writer and not self._paused and self.is_open and self._transport is not None:
            self._transport.write(self._writer.take())

    @property
    def unsent(self) -> bool:
        """Whether something has still to leave this process."""
        if not self.is_open or self._transport is None:
            return False
        return bool(self._writer) or self._transport.get_write_buffer_size() > 0

    def check_peer(self) -> int:
        """The pid of the other end. Raises PeerRefused when it is not of our user."""
        return check_peer(self._transport.get_extra_info("socket")) if self._transport is not None else 0

    def refuse(self, error: WireError) -> None:
        """What came on it is not ours: drop the connection."""
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
