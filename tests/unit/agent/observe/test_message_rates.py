"""Edges and their rates, from the counts of actors."""

from __future__ import annotations

from actors.agent.observe.message_rates import WINDOW_SECONDS, MessageEdge, MessageRates
from supervision.protocol import MessageCount, MessageFlowCounts


def told(count: int, incarnation: int = 1) -> list[MessageFlowCounts]:
    return [MessageFlowCounts("prober", incarnation, [MessageCount("pleg", "PodRuntimeChanged", count)])]


def edge(count: int, rate: float) -> list[MessageEdge]:
    return [MessageEdge("pleg", "prober", "PodRuntimeChanged", count, rate)]


def test_a_rate_is_that_since_the_first_sample() -> None:
    rates = MessageRates()
    assert rates.add(told(100), 50.0) == edge(100, 0.0), "of what was before nothing is known"
    assert rates.add(told(104), 52.0) == edge(104, 2.0)
    assert rates.add(told(108), 58.0) == edge(108, 1.0)


def test_old_messages_do_not_count() -> None:
    rates = MessageRates()
    rates.add(told(0), 0.0)
    rates.add(told(500), 1.0)
    for second in range(2, 3 + int(WINDOW_SECONDS)):
        found = rates.add(told(500), float(second))
    assert found == edge(500, 0.0)


def test_a_new_incarnation_begins_again() -> None:
    rates = MessageRates()
    rates.add(told(100), 0.0)
    assert rates.add(told(3, incarnation=2), 2.0) == edge(3, 0.0)
    assert rates.add(told(5, incarnation=2), 4.0) == edge(5, 1.0)


def test_an_actor_that_did_not_answer_in_between_keeps_its_rate() -> None:
    rates = MessageRates()
    rates.add(told(0), 0.0)
    assert rates.add([], 2.0) == []
    assert rates.add(told(4), 4.0) == edge(4, 1.0)
