"""Who has sent a process what."""

from __future__ import annotations

from supervision.messaging.message_flow import CLIENTS, MOST_SENDERS, OTHERS, MessageFlow
from supervision.process_messages import Hello
from supervision.protocol import GetMessageFlow, GetMetrics, MessageCount


def test_messages_are_counted_by_sender_and_type() -> None:
    flow = MessageFlow()
    for sender, kind in (("pleg", Hello), ("pleg", Hello), ("pleg", GetMetrics), ("prober", Hello)):
        flow.count(sender, kind)
    assert flow.counts() == [
        MessageCount("pleg", "Hello", 2),
        MessageCount("pleg", "GetMetrics", 1),
        MessageCount("prober", "Hello", 1),
    ]


def test_command_lines_are_one_sender_and_the_question_itself_is_not_shown() -> None:
    flow = MessageFlow()
    for pid in (17, 18, 18):
        flow.count(f"client-{pid}", GetMetrics)
        flow.count(f"client-{pid}", GetMessageFlow)
    assert flow.counts() == [MessageCount(CLIENTS, "GetMetrics", 3)]


def test_senders_that_make_up_names_cost_bounded_memory() -> None:
    flow = MessageFlow()
    for number in range(2 * MOST_SENDERS):
        flow.count(f"name{number}", Hello)
        flow.count("name0", Hello)
    counts = {one.sender: one.count for one in flow.counts()}
    assert len(counts) == MOST_SENDERS + 1
    assert counts[OTHERS] == MOST_SENDERS
    assert counts["name0"] == 2 * MOST_SENDERS + 1
