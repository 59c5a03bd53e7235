"""From this actor to one receiver: queue, credit, and what happens when the receiver dies or is replaced.

At most WINDOW small messages, and one large one, are with the receiver unacknowledged; the rest waits here, where newer
state replaces older, deadlines pass and bounds hold. So a stuck receiver costs its senders a bounded queue and no time.

When the connection breaks, what was not acknowledged goes to the next incarnation, if it comes before the deadline: a
message is handled at most once by each incarnation. A receiver that drops the connection but lives has refused what
it got; that is given up.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections import deque
from typing import Protocol

from .channel import Channel, Flusher
from .mailbox import Entry, Outbox
from .names import Names, NoSuchActor, PeerRefused, is_ending
from .wire import Ack, Frame, WireError, is_large

log = logging.getLogger(__name__)
WINDOW = 256
_RETRY_SECONDS = (0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.05, 0.1)


def _after(entry: Entry, other: Entry) -> bool:
    """Whether it must not arrive before the other, which was sent before it."""
    return (entry.key is not None and entry.key == other.key) or (entry.message.ordered and other.message.ordered)


class LinkOwner(Protocol):
    """The actor's process."""

    loop: asyncio.AbstractEventLoop
    flusher: Flusher
    names: Names

    def undelivered(self, name: str, entry: Entry, reason: str) -> None: ...
    def answered(self, name: str, frame: Frame) -> None: ...
    def broke(self, name: str, kept: set[int]) -> None:
        """The connection is gone; of the questions to `name` only those in `kept` can still be answered."""


class Link:
    """Makes its connection when there is something to send."""

    def __init__(self, owner: LinkOwner, name: str, window: int = WINDOW) -> None:
        self._owner, self.name, self._window = owner, name, window
        self._small, self._large = Outbox(), Outbox()
        self._numbers = itertools.count(1)
        self._unacked: deque[Entry] = deque()
        self._unacked_large: deque[Entry] = deque()
        self._returned: list[Entry] = []
        """Not acknowledged by an incarnation that is gone."""
        self._channel: Channel | None = None
        self._connecting = False
        self._attempt = 0
        self._pid = 0
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Messages not handed over yet."""
        return len(self._small) + len(self._large) + len(self._returned)

    @property
    def unsent(self) -> bool:
        return self._channel is not None and self._channel.unsent

    def send(self, entry: Entry) -> None:
        """Never blocks, never raises: what cannot be sent is handed to `undelivered`."""
        entry.number = next(self._numbers)
        lane = self._large if self._goes_large(entry) else self._small
        if self._channel is not None and self._channel.is_open and not lane and self._may_go(entry):
            self._hand_over(entry, self._channel)
        elif lane.add(entry):
            self._schedule_expiry(entry.deadline)
            self._connect_if_needed()
        else:
            self._owner.undelivered(self.name, entry, "overflow")

    def _goes_large(self, entry: Entry) -> bool:
        """Whether it waits its turn among the large ones: newer state, or what is ordered, must not overtake what
        travels in pieces."""
        if is_large(entry.body) or entry.key in self._large or (entry.message.ordered and self._large.ordered):
            return True
        # what comes back goes before it again
        under_way = (*self._unacked_large, *(other for other in self._returned if is_large(other.body)))
        return any(_after(entry, other) for other in under_way)

    def _may_go(self, entry: Entry) -> bool:
        if is_large(entry.body):
            # of the small ones it waits for those that were sent before it only: there may always be newer ones
            return not self._unacked_large and not (self._small and self._small.first.number < entry.number)
        # a small one among the large ones goes as a small one does, once those before it have arrived
        waits = any(_after(entry, other) for other in self._unacked_large)
        return not waits and len(self._unacked) < self._window

    def _hand_over(self, entry: Entry, channel: Channel) -> None:
        (self._unacked_large if is_large(entry.body) else self._unacked).append(entry)
        channel.write(entry.body)

    def _pump(self) -> None:
        for lane in (self._small, self._large):
            while lane and self._channel is not None and self._channel.is_open and self._may_go(lane.first):
                self._hand_over(lane.pop(), self._channel)

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
        except OSError as error:  # no descriptors, or worse: as if nobody were there yet
            log.warning("no connection to %s: %s", self.name, error)
            self._retry()
        else:
            if self._returned and pid == self._pid and is_ending(pid):
                # it has not refused anything: it dies, and its name still means it
                sock.close()
                self._retry()
                return
            self._take_returned(same_process=pid == self._pid)
            self._pid = pid
            opening = self._owner.loop.create_unix_connection(lambda: Channel(self, self._owner.flusher), sock=sock)
            self._opening = self._owner.loop.create_task(opening)

    def _retry(self) -> None:
        delay = _RETRY_SECONDS[min(self._attempt, len(_RETRY_SECONDS) - 1)]
        self._attempt += 1
        self._owner.loop.call_later(delay, self._connect)

    def _give_up(self, reason: str) -> None:
        self._connecting = False
        returned, self._returned = self._returned, []
        for entry in (*returned, *self._small.drain(), *self._large.drain()):
            self._owner.undelivered(self.name, entry, reason)

    def _take_returned(self, same_process: bool) -> None:
        returned, self._returned = self._returned, []
        if same_process:
            for entry in returned:
                self._owner.undelivered(self.name, entry, "refused")
            return
        # to a new process: what is small goes behind what is large as it did before
        large: list[Entry] = []
        small: list[Entry] = []
        for entry in sorted(returned, key=lambda entry: entry.number):
            behind = is_large(entry.body) or any(_after(entry, other) for other in large)
            (large if behind else small).append(entry)
        self._large.put_back(large)
        self._small.put_back(small)

    # -- deadlines ------------------------------------------------------------------------------------------------
    def _schedule_expiry(self, deadline: float) -> None:
        if self._expiry is not None:
            if self._expiry.when() <= deadline + 0.01:
                return
            self._expiry.cancel()
        # a little late, so that many deadlines are one wake-up
        self._expiry = self._owner.loop.call_at(deadline + 0.01, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        now = self._owner.loop.time()
        late = [entry for entry in self._returned if entry.deadline <= now]
        self._returned = [entry for entry in self._returned if entry.deadline > now]
        for entry in (*late, *self._small.expire(now), *self._large.expire(now)):
            self._owner.undelivered(self.name, entry, "deadline")
        self._schedule_next_expiry()
        self._pump()  # what is gone may have been what others waited for

    def _schedule_next_expiry(self) -> None:
        if self.waiting:
            returned = min((entry.deadline for entry in self._returned), default=math.inf)
            self._schedule_expiry(min(returned, self._small.earliest, self._large.earliest))

    # -- what the channel tells -----------------------------------------------------------------------------------
    def opened(self, channel: Channel) -> bool:
        self._channel, self._connecting, self._attempt = channel, False, 0
        self._pump()
        return True

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        for frame in frames:
            self._owner.answered(self.name, frame)

    def acknowledged(self, channel: Channel, ack: Ack) -> None:
        lane = self._unacked_large if ack.large else self._unacked
        for _ in range(min(ack.handled, len(lane))):
            lane.popleft()
        self._pump()

    def closed(self, channel: Channel, error: WireError | None) -> None:
        if channel is not self._channel:
            return
        self._channel = None
        self._returned += [*self._unacked_large, *self._unacked]
        self._unacked.clear()
        self._unacked_large.clear()
        self._owner.broke(self.name, {e.ask for lane in (self._returned, self._small, self._large) for e in lane})
        self._expire()
        self._connect_if_needed()
