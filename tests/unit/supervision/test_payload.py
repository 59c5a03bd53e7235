"""Plain data and Thespian's messages without pickle."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thespian.actors import ActorExitRequest, ChildActorExited, DeadEnvelope, PoisonMessage, WakeupMessage

from supervision.actor import Address
from supervision.addresses import ActorName
from supervision.payload import unwrap, wrap
from supervision.protocol import Hello, Payload
from supervision.wire import WireError

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
    assert unwrap(wrap(PoisonMessage("p"))).poisonMessage == "p"
    wakeup = unwrap(wrap(WakeupMessage(timedelta(seconds=2), "p")))
    assert (wakeup.delayPeriod, wakeup.payload) == (timedelta(seconds=2), "p")


def test_a_registered_message_is_itself_and_may_be_inside_other_data() -> None:
    hello = Hello(ActorName("a"), 1)
    assert wrap(hello) is hello
    assert unwrap(wrap([hello])) == [hello]


@pytest.mark.parametrize("value", [object(), open, timedelta(1), [lambda: 0]])
def test_what_is_not_plain_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be sent without pickle"):
        wrap(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_payload_or_refused(data: bytes) -> None:
    try:
        unwrap(Payload(data))
    except WireError:
        pass
