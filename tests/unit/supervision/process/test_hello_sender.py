"""Whom an actor says Hello, and when."""

from collections.abc import Callable

from supervision.addresses import ActorName
from supervision.message import Message
from supervision.process.hello_sender import AGAIN_SECONDS, HelloSender
from supervision.process_messages import Hello

HELLO = Hello(ActorName("worker"), 3)


class Actor:
    """Its timers run when the test says so."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Message]] = []
        self.due: list[tuple[float, Callable[[], None]]] = []
        feeders = [ActorName("pleg"), ActorName("pod_config")]
        self.greeting = HelloSender(HELLO, feeders, self.tell, lambda seconds, call: self.due.append((seconds, call)))

    def tell(self, name: ActorName, message: Message, *, deadline: float) -> None:
        self.told.append((name, message))

    def turn(self) -> None:
        due, self.due = self.due, []
        for _, call in due:
            call()


BOTH = [("pleg", HELLO), ("pod_config", HELLO)]


def test_each_feeder_gets_a_hello() -> None:
    actor = Actor()
    actor.greeting.send()
    assert actor.told == BOTH
    assert actor.due == []


def test_losses_in_a_row_are_followed_by_one_hello_and_later_ones_by_another() -> None:
    actor = Actor()
    for _ in range(100):
        actor.greeting.message_lost()
    assert actor.told == []
    assert [seconds for seconds, _ in actor.due] == [AGAIN_SECONDS]
    actor.turn()
    assert actor.told == BOTH
    assert actor.due == []
    actor.greeting.message_lost()
    actor.turn()
    assert actor.told == 2 * BOTH
