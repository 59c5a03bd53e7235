"""Plain data and Thespian's messages without pickle."""

from datetime import UTC, timedelta
from enum import Enum, Flag

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thespian.actors import ActorExitRequest, ChildActorExited, DeadEnvelope, PoisonMessage, WakeupMessage

from supervision.actor import Address
from supervision.addresses import ActorName
from supervision.messaging.payload import unwrap, wrap
from supervision.messaging.wire import WireError
from supervision.process_messages import Hello, Payload

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.sets(st.integers(), max_size=3).filter(lambda s: all(abs(i) < 2**63 for i in s))
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_plain_data_arrives_as_it_was_sent(value: object) -> None:
    received = unwrap(wrap(value))
    assert received == value
    assert type(received) is type(value)


def test_thespians_messages_arrive() -> None:
    assert unwrap(wrap(ActorExitRequest())) == ActorExitRequest()
    assert unwrap(wrap(ChildActorExited(Address("a")))).childAddress == Address("a")
    letter = unwrap(wrap(DeadEnvelope(Address("a"), {"x": (1,)})))
    assert (letter.deadAddress, letter.deadMessage) == (Address("a"), {"x": (1,)})
    poison = unwrap(wrap(PoisonMessage("p", "a traceback")))
    assert (poison.poisonMessage, poison.details) == ("p", "a traceback")
    wakeup = unwrap(wrap(WakeupMessage(timedelta(seconds=2), "p")))
    assert (wakeup.delayPeriod, wakeup.payload) == (timedelta(seconds=2), "p")


def test_a_registered_message_is_itself_and_may_be_inside_other_data() -> None:
    hello = Hello(ActorName("a"), 1)
    assert wrap(hello) is hello
    assert unwrap(wrap([hello])) == [hello]


@pytest.mark.parametrize("value", [object(), open, 1j, [lambda: 0]])
def test_a_value_that_is_not_plain_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be sent without pickle"):
        wrap(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_payload_or_refused(data: bytes) -> None:
    try:
        unwrap(Payload(data))
    except WireError:
        pass


class Order:
    """A message class of a plain Thespian program."""

    made = 0

    def __init__(self, what: str, reply_to: Address) -> None:
        Order.made += 1
        self.what, self.reply_to = what, reply_to

    def __setstate__(self, state: object) -> None:
        raise AssertionError("no code of the class is called")


class Slotted(Order):
    __slots__ = ("unset", "when")


class Holder(list[int]):
    """Has state that is no attribute."""


def test_objects_of_a_programs_own_classes_arrive_without_a_call_of_their_code() -> None:
    order = Order("fetch", Address("a"))
    made = Order.made
    received = unwrap(wrap([order], objects=True), objects=True)[0]
    assert type(received) is Order
    assert vars(received) == vars(order)
    assert Order.made == made


def test_the_attributes_of_slots_arrive_too() -> None:
    sent = Slotted("fetch", Address("a"))
    sent.when = timedelta(days=1, microseconds=3)  # type: ignore[attr-defined]
    received = unwrap(wrap(sent, objects=True), objects=True)
    assert (received.what, received.when, hasattr(received, "unset")) == ("fetch", sent.when, False)  # type: ignore[attr-defined]


def test_an_object_is_neither_sent_nor_read_where_only_messages_are() -> None:
    order = Order("fetch", Address("a"))
    with pytest.raises(TypeError, match="cannot be sent without pickle"):
        wrap(order)
    with pytest.raises(WireError, match="not read here"):
        unwrap(wrap(order, objects=True))


def _local() -> object:
    class Local:
        pass

    return Local()


class Colour(Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 - another name of the same member


class Right(Flag):
    READ = 1
    WRITE = 2


@pytest.mark.parametrize("value", [Order, Order.__class__, Colour, Colour.RED, Colour.CRIMSON, Right.WRITE])
def test_a_class_and_a_member_of_an_enum_arrive_as_themselves(value: object) -> None:
    assert unwrap(wrap([value], objects=True), objects=True)[0] is value
    with pytest.raises(TypeError, match="cannot be sent without pickle"):
        wrap(value)
    with pytest.raises(WireError, match="not read here"):
        unwrap(wrap(value, objects=True))


def test_a_sum_of_flags_is_refused() -> None:
    with pytest.raises(TypeError, match="has no name in Right"):
        wrap(Right.READ | Right.WRITE, objects=True)


def test_the_error_says_why_an_object_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="Holder cannot be sent: an object of it is more than its attributes"):
        wrap(Holder([1]), objects=True)


@pytest.mark.parametrize(
    "value", [_local(), type(_local()), Holder([1]), open, lambda: 0, ValueError("x"), 1j, type(None)]
)
def test_an_object_that_cannot_be_rebuilt_from_its_attributes_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        wrap(value, objects=True)


def test_a_value_that_contains_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="contains itself"):
        wrap(circle)


@given(st.timedeltas() | st.datetimes() | st.datetimes(timezones=st.just(UTC)))
def test_times_arrive_to_the_microsecond(value: object) -> None:
    assert unwrap(wrap(value)) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_payload_or_refused_also_where_objects_are_read(data: bytes) -> None:
    try:
        unwrap(Payload(data), objects=True)
    except WireError:
        pass
