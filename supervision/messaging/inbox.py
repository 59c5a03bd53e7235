"""The actor's inbox: accepts connections, handles messages in order and in slices, and acknowledges them."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from typing import Any, Protocol

from ..actor import Address
from ..message import Message
from . import accept_limit
from .channel import Channel, Flusher
from .message_flow import MessageFlow
from .names import BACKLOG, PeerRefused
from .wire import MAX_BYTES, Ack, Frame, WireError, encode

SLICE_SECONDS = 0.005
"""The time for messages before timers, answers and new connections are served."""
_ACK_SECONDS = 0.01


class ReplyAddress(Address):
    """The sender of a question. The first message sent to it is the answer, which uses the connection of the
    question."""

    __slots__ = ("_channel", "answered")

    def __init__(self, name: str, ask: int, channel: Channel) -> None:
        super().__init__(name, ask)
        self._channel, self.answered = channel, False

    def answer(self, sender: str, message: Message) -> None:
        self.answered = True
        self._channel.write(encode(sender, message, answer=self.ask))


class InboxOwner(Protocol):
    """The actor's process."""

    loop: asyncio.AbstractEventLoop
    flusher: Flusher

    def dispatch(self, message: Any, sender: Address) -> None: ...
    def count_refused(self, error: Exception) -> None: ...
    def crash(self, message: str, error: BaseException) -> None: ...


class Sender:
    """A process that sends to this one, with all its connections."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.channels: set[Channel] = set()

    def size_error(self) -> str:
        """The error if its incomplete messages take too much memory, else ''.

        A correct sender has one large message under way at a time; a sender with several is disconnected.
        """
        size = sum(channel.incomplete_bytes for channel in self.channels)
        if size <= MAX_BYTES:
            return ""
        return f"pid {self.pid} has begun large messages of {size} bytes in all, more than {MAX_BYTES}"


class Inbox:
    """The mailbox. Messages wait until `open_up`."""

    def __init__(self, owner: InboxOwner) -> None:
        self._owner = owner
        self._waiting: deque[tuple[Channel, Frame] | tuple[Any, Address]] = deque()
        self._to_acknowledge: set[Channel] = set()
        self._channels: dict[Channel, Sender] = {}
        self._senders: dict[int, Sender] = {}
        """By pid."""
        self._current: tuple[Channel, int] | None = None
        self._is_open = self._draining = self._scheduled = False
        self.handled = 0
        self.flow = MessageFlow()

    def __len__(self) -> int:
        return len(self._waiting)

    def open_up(self) -> None:
        """Start to handle messages."""
        self._is_open = True
        self._drain()

    def shut(self) -> None:
        """Stop handling messages. Waiting ones are not acknowledged, so their senders know that they did not
        arrive."""
        self._is_open = False

    def put(self, message: Any, sender: Address) -> None:
        """Queue a message that did not come from another actor's connection."""
        self.flow.count(str(sender), type(message))
        self._waiting.append((message, sender))
        if self._is_open and not self._draining and not self._scheduled:
            self._schedule()

    def flush_acknowledgements(self) -> None:
        """The process is about to end: acknowledge the handled messages, the current one included, so that they are not
        sent again."""
        if self._current is not None:
            self._current[0].handled(self._current[1])
        for channel in self._channels:
            channel.acknowledge()
            channel.flush()

    @property
    def unsent(self) -> bool:
        return any(channel.unsent for channel in self._channels)

    # -- channel events -------------------------------------------------------------------------------------------
    def opened(self, channel: Channel) -> bool:
        try:
            pid = channel.check_peer()
        except PeerRefused as error:
            self._owner.count_refused(error)
            return False
        sender = self._channels[channel] = self._senders.setdefault(pid, Sender(pid))
        sender.channels.add(channel)
        return True

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        sender = self._channels.get(channel)
        if sender is not None and (wrong := sender.size_error()):
            channel.refuse(WireError(wrong))
            return
        if not frames:
            return
        self._waiting.extend((channel, frame) for frame in frames)
        if self._is_open and not self._scheduled:  # never while a message is handled: the event loop calls this
            self._drain()

    def acknowledged(self, channel: Channel, ack: Ack) -> None:
        channel.refuse(WireError("an acknowledgement of a message that was never sent"))

    def closed(self, channel: Channel, error: WireError | None) -> None:
        sender = self._channels.pop(channel, None)
        if sender is not None:
            sender.channels.discard(channel)
            if not sender.channels:
                del self._senders[sender.pid]
        self._to_acknowledge.discard(channel)
        if error is not None:
            self._owner.count_refused(error)

    # -- handling -------------------------------------------------------------------------------------------------
    def _schedule(self) -> None:
        self._scheduled = True
        self._owner.loop.call_soon(self._drain)

    def _drain(self) -> None:
        """Handle the waiting messages, for a slice of time. An error here ends the process, as one in a handler does:
        the event loop would only log it, and the actor would handle no more messages while its heart beats on."""
        try:
            self._handle_slice()
        except BaseException as error:  # noqa: BLE001 - let it crash
            self._owner.crash("", error)

    def _handle_slice(self) -> None:
        self._scheduled = False
        self._draining = True
        self._owner.flusher.hold()
        time = self._owner.loop.time
        end = time() + SLICE_SECONDS
        while self._waiting and self._is_open:
            first, second = self._waiting.popleft()
            self.handled += 1
            if isinstance(second, Frame):
                self._handle(first, second)
            else:
                self._owner.dispatch(first, second)
            if time() > end:
                break
        self._draining = False
        self._owner.flusher.let_go()
        if self._waiting and self._is_open:
            self._schedule()

    def _handle(self, channel: Channel, frame: Frame) -> None:
        self._current = channel, frame.size
        try:
            message = frame.message()
        except WireError as error:
            self._current = None
            channel.acknowledge()  # the messages before it were handled
            channel.refuse(error)
            return
        self.flow.count(frame.sender, type(message))
        self._owner.dispatch(
            message, ReplyAddress(frame.sender, frame.ask, channel) if frame.ask else Address(frame.sender)
        )
        self._current = None
        if channel.handled(frame.size):
            channel.acknowledge()
        else:
            self._acknowledge_later(channel)

    def _acknowledge_later(self, channel: Channel) -> None:
        if not self._to_acknowledge:
            self._owner.loop.call_later(_ACK_SECONDS, self._acknowledge)
        self._to_acknowledge.add(channel)

    def _acknowledge(self) -> None:
        channels, self._to_acknowledge = self._to_acknowledge, set()
        for channel in channels:
            channel.acknowledge()


async def serve(inbox: Inbox, flusher: Flusher, sock: socket.socket) -> asyncio.Server:
    """Accept connections on the socket."""
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: Channel(inbox, flusher), sock=sock, backlog=accept_limit.ONE)
    accept_limit.listen_for(server, BACKLOG)
    return server
