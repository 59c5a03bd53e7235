"""What a sender may make an actor keep in memory, and the order of what an actor tells itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from supervision.actor import Address
from supervision.messaging import inbox as module
from supervision.messaging.channel import Flusher
from supervision.messaging.inbox import Inbox
from supervision.messaging.names import PeerRefused
from supervision.messaging.wire import MAX_BYTES, Ack, Frame, WireError, decode, encode
from supervision.protocol import Done


class FakeChannel:
    def __init__(self, pid: int) -> None:
        self.pid, self.incomplete_bytes = pid, 0
        self.refused: WireError | None = None
        self.handled_bytes = self.acknowledged = self.flushed = 0

    def handled(self, size: int) -> bool:
        self.handled_bytes += size
        return False

    def acknowledge(self) -> None:
        self.acknowledged += 1

    def flush(self) -> None:
        self.flushed = self.acknowledged

    def check_peer(self) -> int:
        return self.pid

    def refuse(self, error: WireError) -> None:
        self.refused = error


def _receive(inbox: Inbox, channel: Any, incomplete_bytes: int) -> None:
    channel.incomplete_bytes = incomplete_bytes
    inbox.received(channel, [])


def _opened(inbox: Inbox, pid: int) -> Any:
    channel: Any = FakeChannel(pid)
    assert inbox.opened(channel)
    return channel


def test_a_sender_that_begins_several_large_messages_is_cut_off() -> None:
    owner: Any = None
    inbox = Inbox(owner)
    first, second = _opened(inbox, 7), _opened(inbox, 7)
    _receive(inbox, first, MAX_BYTES - 10)
    _receive(inbox, second, 11)
    assert first.refused is None
    assert "pid 7 has begun large messages" in str(second.refused)


def test_each_sender_may_have_one_large_message_on_its_way() -> None:
    owner: Any = None
    inbox = Inbox(owner)
    first, second = _opened(inbox, 7), _opened(inbox, 8)
    for channel in (first, second):
        _receive(inbox, channel, MAX_BYTES)
    assert first.refused is second.refused is None
    inbox.closed(first, None)
    third = _opened(inbox, 7)
    _receive(inbox, third, MAX_BYTES)
    assert third.refused is None, "what was closed does not count"


def test_a_sender_that_closes_one_of_its_connections_has_one_limit_still() -> None:
    owner: Any = None
    inbox = Inbox(owner)
    first, second = _opened(inbox, 7), _opened(inbox, 7)
    inbox.closed(first, None)
    _receive(inbox, second, MAX_BYTES - 10)
    third = _opened(inbox, 7)
    _receive(inbox, third, 11)
    assert "pid 7 has begun large messages" in str(third.refused)


class Dispatched:
    """The process of an actor that notes its messages."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.flusher = Flusher(self.loop)
        self.messages: list[Any] = []
        self.crashes: list[BaseException] = []

    def dispatch(self, message: Any, sender: Address) -> None:
        self.messages.append(message)

    def count_refused(self, error: Exception) -> None:
        raise error

    def crash(self, message: str, error: BaseException) -> None:
        self.crashes.append(error)


async def test_messages_of_an_actor_to_itself_are_handled_in_order() -> None:
    owner = Dispatched()
    inbox = Inbox(owner)
    inbox.put("told before it is in service", Address("me"))
    for number in range(3):
        inbox.put(number, Address("me"))
    inbox.open_up()
    assert owner.messages == ["told before it is in service", 0, 1, 2]
    inbox.put(3, Address("me"))
    inbox.put(4, Address("me"))
    assert len(inbox) == 2, "never within the handler that tells it"
    await asyncio.sleep(0)
    assert owner.messages[4:] == [3, 4]


async def test_an_error_in_the_mailbox_itself_ends_the_process() -> None:
    """The event loop would log it, and the actor would stay deaf."""
    owner = Dispatched()
    inbox = Inbox(owner)
    inbox.open_up()
    inbox.put("handled", Address("me"))
    fault = RuntimeError("a fault of the mailbox")

    def fail(message: Any, sender: Address) -> None:
        raise fault

    owner.dispatch = fail  # type: ignore[method-assign]
    await asyncio.sleep(0)
    assert owner.crashes == [fault]


def frame(text: str) -> Frame:
    return decode(encode("sender", Done(text)))


async def test_messages_that_arrive_while_others_wait_for_their_turn_do_not_take_it_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Timers, answers and new connections have their turn between two slices."""
    monkeypatch.setattr(module, "SLICE_SECONDS", -1.0)  # one message in a slice
    owner = Dispatched()
    inbox = Inbox(owner)
    channel = _opened(inbox, 7)
    inbox.received(channel, [frame("one"), frame("two")])
    assert owner.messages == []
    inbox.open_up()
    inbox.received(channel, [frame("three")])
    assert owner.messages == [Done("one")]
    await asyncio.sleep(0)
    assert owner.messages == [Done("one"), Done("two")]
    await asyncio.sleep(0)
    assert owner.messages == [Done("one"), Done("two"), Done("three")]


async def test_a_process_that_ends_acknowledges_the_message_on_which_it_ends_and_those_before_it() -> None:
    owner = Dispatched()
    inbox = Inbox(owner)
    channel, other = _opened(inbox, 7), _opened(inbox, 8)
    first, last = frame("one"), frame("ends the process")

    def end(message: Any, sender: Address) -> None:
        if message == last.message():
            inbox.flush_acknowledgements()
            inbox.shut()

    owner.dispatch = end  # type: ignore[method-assign]
    inbox.open_up()
    inbox.received(channel, [first, last, frame("not handled")])
    assert (channel.handled_bytes, channel.acknowledged, channel.flushed) == (first.size + 2 * last.size, 1, 1)
    assert (other.handled_bytes, other.flushed) == (0, 1)
    assert len(inbox) == 1, "it is not acknowledged, and goes to the next incarnation"


async def test_a_message_that_cannot_be_read_drops_the_connection_and_what_was_handled_is_acknowledged() -> None:
    owner = Dispatched()
    inbox = Inbox(owner)
    channel = _opened(inbox, 7)
    inbox.open_up()
    unreadable = frame("x")._replace(type="no.such.Message")
    inbox.received(channel, [frame("one"), unreadable])
    assert owner.messages == [Done("one")]
    assert channel.acknowledged == 1
    assert "no.such.Message" in str(channel.refused)
    inbox.flush_acknowledgements()
    assert channel.handled_bytes == frame("one").size, "the unreadable one does not count as handled"


async def test_a_peer_that_is_refused_is_counted_and_sends_nothing() -> None:
    owner, counted = Dispatched(), list[Exception]()

    def count(error: Exception) -> None:
        counted.append(error)

    owner.count_refused = count  # type: ignore[method-assign]
    inbox, channel = Inbox(owner), FakeChannel(7)

    def refuse() -> int:
        raise PeerRefused("pid 7 runs as uid 5, not 0")

    channel.check_peer = refuse  # type: ignore[method-assign]
    foreign: Any = channel
    assert not inbox.opened(foreign)
    assert [str(error) for error in counted] == ["pid 7 runs as uid 5, not 0"]
    inbox.closed(foreign, None)
    assert len(counted) == 1


async def test_an_acknowledgement_of_nothing_drops_the_connection() -> None:
    inbox = Inbox(Dispatched())
    channel = _opened(inbox, 7)
    inbox.acknowledged(channel, Ack(1))
    assert "never sent" in str(channel.refused)


async def test_handled_messages_are_acknowledged_soon_and_once_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ACK_SECONDS", 0.0)
    inbox = Inbox(Dispatched())
    channel = _opened(inbox, 7)
    inbox.open_up()
    inbox.received(channel, [frame("one"), frame("two")])
    assert channel.acknowledged == 0
    while not channel.acknowledged:
        await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    assert channel.acknowledged == 1
