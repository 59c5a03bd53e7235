"""From one actor to another: messages arrive in the order in which they were sent, whatever their size."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from supervision.message import Message
from supervision.messaging.channel import WINDOW_BYTES
from supervision.messaging.link import Link
from supervision.messaging.outbox import QueuedMessage
from supervision.messaging.wire import LARGE_BYTES, Ack, Frame, FrameReader, FrameWriter, encode

BIG = 3 * LARGE_BYTES + 1000


class State(Message, frozen=True):
    """Newer takes the place of older."""

    number: int
    body: bytes = b""
    name: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("name",)


class Step(Message, frozen=True):
    """Each counts."""

    number: int
    body: bytes = b""
    name: str = ""


class Loop:
    def call_at(self, when: float, call: Any) -> Any:
        return self

    def call_later(self, seconds: float, call: Any) -> Any:
        return self

    def when(self) -> float:
        return 0.0

    def cancel(self) -> None: ...

    def time(self) -> float:
        return 0.0


class Owner:
    loop, flusher = Loop(), None

    def __init__(self) -> None:
        self.names = self

    def connect(self, name: str) -> Any:
        raise BlockingIOError

    def undelivered(self, name: str, entry: QueuedMessage, reason: str) -> None:
        raise AssertionError(reason)

    def connection_closed(self, name: str, kept: set[int]) -> None: ...


class Receiver:
    """One incarnation: what travels to it, what has come, and the numbers of what it has handled."""

    is_open = True

    def __init__(self, link: Link) -> None:
        self.link = link
        self.handled: list[int] = []
        self._writer, self._reader = FrameWriter(), FrameReader()
        self._come: deque[Frame] = deque()
        self._unacknowledged = 0
        link.opened(self)  # type: ignore[arg-type]

    def write(self, body: bytes) -> None:
        self._writer.add(body)

    def carry(self) -> None:
        """The next bytes arrive: a piece, or some small messages."""
        for frame in self._reader.feed(self._writer.take()):
            assert isinstance(frame, Frame)
            self._come.append(frame)

    def handle(self) -> None:
        if self._come:
            message = self._come.popleft().message()
            assert isinstance(message, State | Step)
            self.handled.append(message.number)
            self._unacknowledged += 1

    def acknowledge(self) -> None:
        count, self._unacknowledged = self._unacknowledged, 0
        self.link.acknowledged(self, Ack(count))  # type: ignore[arg-type]

    def die(self) -> None:
        self.is_open = False
        self.link.closed(self, None)  # type: ignore[arg-type]

    def finish(self) -> None:
        while self._writer or self._come or self.link.waiting:
            self.carry()
            self.handle()
            self.acknowledge()


def send(link: Link, message: Message) -> None:
    link.send(QueuedMessage(message, encode("a", message), 1e9, 0, message.coalesce_key()))


def linked(window: int = 4) -> tuple[Link, Receiver]:
    link = Link(Owner(), "b", window)  # type: ignore[arg-type]
    return link, Receiver(link)


def replaced(link: Link) -> Receiver:
    """The next incarnation, which is sent what the last one has not acknowledged."""
    link._take_returned(same_process=False)
    return Receiver(link)


def test_a_small_message_waits_behind_a_large_one() -> None:
    link, receiver = linked()
    send(link, Step(0, b"x" * BIG))
    send(link, Step(1))
    receiver.carry()
    receiver.handle()
    assert receiver.handled == [], "the large one has not come whole"
    receiver.finish()
    assert receiver.handled == [0, 1]


def test_a_large_message_is_delivered_however_many_small_ones_follow_it() -> None:
    link, receiver = linked()
    for number in range(6):
        send(link, Step(number))
    send(link, Step(6, b"x" * BIG))
    for number in range(7, 27):
        send(link, Step(number))
    receiver.finish()
    assert receiver.handled == list(range(27))


def test_a_newer_state_keeps_its_own_place() -> None:
    link, receiver = linked(window=1)
    send(link, Step(0))
    for message in (State(1), Step(2), State(3), Step(4)):
        send(link, message)
    receiver.finish()
    assert receiver.handled == [0, 2, 3, 4]


def test_a_sender_waits_once_the_receiver_has_a_window_of_bytes_to_handle() -> None:
    link, receiver = linked(window=100)
    for number in range(3):
        send(link, Step(number, b"x" * WINDOW_BYTES))
    assert link.waiting == 2
    receiver.finish()
    assert receiver.handled == [0, 1, 2]


SENDS = st.tuples(st.sampled_from([State, Step]), st.sampled_from([1, LARGE_BYTES, BIG]), st.sampled_from("xy"))
ACTS = st.one_of(SENDS, st.sampled_from(["carry", "handle", "acknowledge", "die", "replace"]))


@given(st.lists(ACTS, max_size=60))
def test_each_incarnation_handles_in_the_order_of_sending_and_nothing_is_lost(acts: list[Any]) -> None:
    link, receiver = linked()
    incarnations = [receiver]
    numbers, steps, newest = itertools.count(), [], {}
    for act in acts:
        if isinstance(act, tuple):
            kind, size, name = act
            message = kind(next(numbers), b"x" * size, name)
            if kind is Step:
                steps.append(message.number)
            else:
                newest[name] = message.number
            send(link, message)
        elif act == "replace":
            if not receiver.is_open:
                receiver = replaced(link)
                incarnations.append(receiver)
        elif receiver.is_open:
            getattr(receiver, act)()
    if not receiver.is_open:
        receiver = replaced(link)
        incarnations.append(receiver)
    receiver.finish()
    for each in incarnations:
        assert each.handled == sorted(set(each.handled)), "in order, and each once"
    handled = {number for each in incarnations for number in each.handled}
    assert handled >= {*steps, *newest.values()}
