"""What a sender may make an actor keep in memory, and the order of what an actor tells itself."""

from __future__ import annotations

import asyncio
from typing import Any

from supervision.actor import Address
from supervision.messaging.channel import Flusher
from supervision.messaging.inbox import Inbox
from supervision.messaging.wire import MAX_BYTES, WireError


class FakeChannel:
    def __init__(self, pid: int) -> None:
        self.pid, self.incomplete_bytes = pid, 0
        self.refused: WireError | None = None

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
