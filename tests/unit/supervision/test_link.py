"""From one actor to another: what is large travels in pieces, and nothing that must not overtake it does."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from supervision.link import Link
from supervision.mailbox import Entry
from supervision.message import Message
from supervision.wire import LARGE_BYTES, Ack, decode, encode, is_large

BIG = LARGE_BYTES + 1000


class State(Message, frozen=True):
    """Newer takes the place of older."""

    number: int
    body: bytes = b""
    name: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("name",)


class Step(Message, frozen=True):
    """Each counts, in its order."""

    number: int
    body: bytes = b""
    name: str = ""
    ordered: ClassVar[bool] = True


class Note(Message, frozen=True):
    """Each counts, in any order."""

    number: int
    body: bytes = b""


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

    def undelivered(self, name: str, entry: Entry, reason: str) -> None:
        raise AssertionError(reason)

    def broke(self, name: str, kept: set[int]) -> None: ...


class Receiver:
    """One incarnation: what was written to it, and what it has handled of that, in its order."""

    is_open = True

    def __init__(self, link: Link, handled: list[Any]) -> None:
        self.link, self.handled = link, handled
        self.written: list[bytes] = []
        link.opened(self)  # type: ignore[arg-type]

    def write(self, body: bytes) -> None:
        self.written.append(body)

    def handle(self, *, small: bool = False) -> None:
        """The next; or, with `small`, the first small one behind a large one that still comes."""
        choices = [body for body in self.written if not is_large(body)] if small else []
        if not (choices or self.written):
            return
        body = choices[0] if choices else self.written[0]
        self.written.remove(body)
        self.handled.append(decode(body).message())
        self.link.acknowledged(self, Ack(1, is_large(body)))  # type: ignore[arg-type]

    def die(self) -> None:
        self.written.clear()
        self.is_open = False
        self.link.closed(self, None)  # type: ignore[arg-type]

    def next(self) -> Receiver:
        """Its next incarnation, which is told what this one has not handled."""
        self.link._take_returned(same_process=False)
        return Receiver(self.link, self.handled)


def send(link: Link, message: Message) -> None:
    link.send(Entry(message, encode("a", message), 1e9, 0, message.coalesce_key()))


def linked() -> tuple[Link, Receiver]:
    link = Link(Owner(), "b", window=4)  # type: ignore[arg-type]
    return link, Receiver(link, [])


def test_a_small_state_behind_a_large_one_of_its_kind_stops_nothing_after_it() -> None:
    link, receiver = linked()
    for number, size in enumerate((BIG, 1, BIG, 1)):
        send(link, State(number, b"x" * size))
    send(link, State(9, b"x" * BIG, "other"))
    while receiver.written:
        receiver.handle()
    assert [message.number for message in receiver.handled] == [0, 3, 9]
    assert link.waiting == 0


def test_what_is_ordered_does_not_overtake_what_travels_in_pieces() -> None:
    link, receiver = linked()
    send(link, Step(0, b"x" * BIG))
    send(link, Step(1))
    send(link, State(2))
    receiver.handle(small=True)
    assert [message.number for message in receiver.handled] == [2]
    receiver.handle(small=True)
    receiver.handle(small=True)
    assert [message.number for message in receiver.handled] == [2, 0, 1]


def test_nothing_overtakes_what_the_last_incarnation_was_sent() -> None:
    link, receiver = linked()
    for kind in (Step, State):
        send(link, kind(0, b"x" * BIG))
    receiver.die()
    for kind in (Step, State):
        send(link, kind(1))
    receiver = receiver.next()
    while receiver.written:
        receiver.handle()
    handled = [(type(one), one.number) for one in receiver.handled]
    assert [number for kind, number in handled if kind is Step] == [0, 1]
    assert [number for kind, number in handled if kind is State][-1] == 1


def test_a_large_one_comes_through_however_many_small_ones_follow_it() -> None:
    link, receiver = linked()
    for number in range(6):
        send(link, Note(number))
    send(link, Note(100, b"x" * BIG))
    for number in range(200, 220):
        send(link, Note(number))
        receiver.handle()
    assert 100 in [one.number for one in receiver.handled]


SENDS = st.tuples(st.sampled_from([State, Step]), st.sampled_from([1, BIG]), st.sampled_from("xy"))
ACTS = st.one_of(SENDS, st.sampled_from(["handle", "handle a small one", "die", "next"]))


@given(st.lists(ACTS, max_size=40))
def test_whatever_comes_all_arrives_in_order_and_no_older_state_after_a_newer(acts: list[Any]) -> None:
    link, receiver = linked()
    numbers, steps, newest = itertools.count(), [], {}
    for act in acts:
        if act == "die" and receiver.is_open:
            receiver.die()
        elif act in ("die", "next"):
            receiver = receiver if receiver.is_open else receiver.next()
        elif isinstance(act, str):
            receiver.handle(small=act == "handle a small one")
        else:
            kind, size, name = act
            message = kind(next(numbers), b"x" * size, name)
            if kind is Step:
                steps.append(message.number)
            else:
                newest[name] = message.number
            send(link, message)
    receiver = receiver if receiver.is_open else receiver.next()
    while receiver.written:
        receiver.handle()
    assert link.waiting == 0
    assert [one.number for one in receiver.handled if isinstance(one, Step)] == steps
    for name, number in newest.items():
        seen = [one.number for one in receiver.handled if isinstance(one, State) and one.name == name]
        assert seen == sorted(seen)
        assert seen[-1] == number
