"""The link from this actor to one receiver: its queue, its window, and the receiver's death or replacement.

Messages arrive in the order of sending, in any size; nothing overtakes. Up to WINDOW messages and
WINDOW_BYTES bytes are with the receiver unacknowledged (the last message may exceed the bytes); the rest waits here,
where newer state replaces older, deadlines pass and bounds hold. So a hung receiver costs its senders a bounded queue
and no time, and a sender uses at most WINDOW_BYTES and one large message of a receiver's memory.

When the connection breaks, unacknowledged messages go to the next incarnation if it starts before their deadline: each
incarnation handles a message at most once. A receiver that closes the connection but lives has refused the messages;
they are given up.

Answers are not sent this way: each goes back on the connection of its question, in order with the other answers there.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections import deque
from typing import Protocol

from ..backoff import RetrySchedule
from .channel import WINDOW_BYTES, Channel, Flusher
from .names import Names, NoSuchActor, PeerRefused, is_ending
from .outbox import Outbox, QueuedMessage
from .wire import Ack, Frame, WireError

log = logging.getLogger(__name__)
WINDOW = 256
_RETRIES = RetrySchedule(first=0.001, limit=0.1)


class LinkOwner(Protocol):
    """The actor's process."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    names: Names

    @property
    def flusher(self) -> Flusher: ...

    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None: ...
    def answered(self, name: str, frame: Frame) -> None: ...
    def connection_closed(self, name: str, kept: set[int]) -> None:
        """The connection is closed; only the questions in `kept` to `name` can still be answered."""


class Link:
    """Connects when there is something to send."""

    def __init__(self, owner: LinkOwner, name: str, window: int = WINDOW) -> None:
        self._owner, self.name, self._window = owner, name, window
        self._queue = Outbox()
        self._unacked: deque[QueuedMessage] = deque()
        self._unacked_bytes = 0
        self._returned: list[QueuedMessage] = []
        """Messages that an incarnation did not acknowledge before it ended."""
        self._channel: Channel | None = None
        self._connecting = False
        self._attempt = 0
        self._pid = 0
        self._expiry: asyncio.TimerHandle | None = None
        self._is_retired = False

    @property
    def waiting(self) -> int:
        """Messages that are not acknowledged yet."""
        return len(self._queue) + len(self._returned)

    @property
    def unsent(self) -> bool:
        return self._channel is not None and self._channel.unsent

    def send(self, entry: QueuedMessage) -> None:
        """Never blocks or raises: messages that cannot be sent go to `undelivered`."""
        if not self._queue and self._channel is not None and self._channel.is_open and self._has_room():
            self._transmit(entry, self._channel)
        elif self._queue.add(entry):
            self._schedule_expiry(entry.deadline)
            self._connect_if_needed()
        else:
            self._owner.undelivered(self.name, entry, "overflow")

    def retire(self) -> None:
        """Nothing more is sent: close the connection when all messages are acknowledged."""
        self._is_retired = True
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._is_retired and self._channel is not None and not (self._unacked or self.waiting):
            self._channel.abort()

    def _has_room(self) -> bool:
        return len(self._unacked) < self._window and self._unacked_bytes < WINDOW_BYTES

    def _transmit(self, entry: QueuedMessage, channel: Channel) -> None:
        self._unacked.append(entry)
        self._unacked_bytes += len(entry.body)
        channel.write(entry.body)

    def _pump(self) -> None:
        while self._queue and self._channel is not None and self._channel.is_open and self._has_room():
            self._transmit(self._queue.pop(), self._channel)

    # -- connecting -----------------------------------------------------------------------------------------------
    def _connect_if_needed(self) -> None:
        if self._channel is None and not self._connecting:
            self._connecting = True
            self._connect()

    def _connect(self) -> None:
        if not self.waiting:
            self._connecting = False
            return
        try:
            sock, pid = self._owner.names.connect(self.name)
        except PeerRefused:
            self._give_up("the peer is another user's")
        except NoSuchActor as error:
            if error.gone:
                self._give_up("no such actor")
            else:
                self._retry()
        except OSError as error:  # no free descriptor, or worse: treated like an actor that has not started yet
            log.warning("no connection to %s: %s", self.name, error)
            self._retry()
        else:
            if self._returned and pid == self._pid and is_ending(pid):
                # it refused nothing: it is dying, and its name is not yet reused
                sock.close()
                self._retry()
                return
            self._take_returned(same_process=pid == self._pid)
            self._pid = pid
            self._opening = self._owner.loop.create_task(self._open(sock))

    async def _open(self, sock: socket.socket) -> None:
        try:
            await self._owner.loop.create_unix_connection(lambda: Channel(self, self._owner.flusher), sock=sock)
        except OSError as error:
            log.warning("no connection to %s: %s", self.name, error)
            sock.close()
            self._retry()

    def _retry(self) -> None:
        self._attempt += 1
        self._owner.loop.call_later(_RETRIES.pause(self._attempt), self._connect)

    def _give_up(self, reason: str) -> None:
        self._connecting = False
        returned, self._returned = self._returned, []
        for entry in (*returned, *self._queue.drain()):
            self._owner.undelivered(self.name, entry, reason)

    def _take_returned(self, same_process: bool) -> None:
        returned, self._returned = self._returned, []
        if same_process:
            for entry in returned:
                self._owner.undelivered(self.name, entry, "refused")
            return
        self._queue.put_back(returned)

    # -- deadlines ------------------------------------------------------------------------------------------------
    def _schedule_expiry(self, deadline: float) -> None:
        if self._expiry is not None:
            if self._expiry.when() <= deadline + 0.01:
                return
            self._expiry.cancel()
        # slightly late, so that many deadlines share one wake-up
        self._expiry = self._owner.loop.call_at(deadline + 0.01, self._expire)

    def _expire(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        now = self._owner.loop.time()
        late = [entry for entry in self._returned if entry.deadline <= now]
        self._returned = [entry for entry in self._returned if entry.deadline > now]
        for entry in (*late, *self._queue.expire(now)):
            self._owner.undelivered(self.name, entry, "deadline")
        if self.waiting:
            returned = min((entry.deadline for entry in self._returned), default=math.inf)
            self._schedule_expiry(min(returned, self._queue.earliest))

    # -- channel events -------------------------------------------------------------------------------------------
    def opened(self, channel: Channel) -> bool:
        self._channel, self._connecting, self._attempt = channel, False, 0
        self._pump()
        return True

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        for frame in frames:
            self._owner.answered(self.name, frame)

    def acknowledged(self, channel: Channel, ack: Ack) -> None:
        for _ in range(min(ack.handled, len(self._unacked))):
            self._unacked_bytes -= len(self._unacked.popleft().body)
        self._pump()
        self._close_if_done()

    def closed(self, channel: Channel, error: WireError | None) -> None:
        if channel is not self._channel:
            return
        self._channel = None
        self._returned += self._unacked
        self._unacked.clear()
        self._unacked_bytes = 0
        self._owner.connection_closed(self.name, {entry.ask for entry in (*self._returned, *self._queue)})
        self._expire()
        self._connect_if_needed()
