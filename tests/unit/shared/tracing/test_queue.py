"""What waits for the collector is bounded."""

from __future__ import annotations

from actors.shared.tracing.queue import BATCH_SPANS, MAX_SPANS, SpanQueue
from actors.shared.tracing.span import Kind, Span, SpanContext

CONTEXT = SpanContext(trace_id=b"t" * 16, span_id=b"s" * 8, sampled=True)


def span(name: str) -> Span:
    return Span(name, Kind.INTERNAL, CONTEXT, None, lambda _: None)


def test_the_oldest_come_first_in_batches() -> None:
    queue = SpanQueue()
    for number in range(BATCH_SPANS + 2):
        queue.add(span(str(number)))
    assert [one.name for one in queue.take()] == [str(number) for number in range(BATCH_SPANS)]
    assert [one.name for one in queue.take()] == [str(BATCH_SPANS), str(BATCH_SPANS + 1)]
    assert queue.take() == []


def test_a_full_queue_drops_and_counts_new_entries() -> None:
    queue = SpanQueue()
    for number in range(MAX_SPANS + 3):
        queue.add(span(str(number)))
    assert len(queue) == MAX_SPANS
    assert (queue.take_dropped(), queue.take_dropped()) == (3, 0)
    assert queue.take(1)[0].name == "0"
