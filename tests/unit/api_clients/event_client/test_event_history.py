"""The last events of the node: bounded, the same again counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.event_client.event_history import EventHistory
from actors.api_clients.event_client.messages import RecordEvent


def event(message: str) -> RecordEvent:
    return RecordEvent(kind="Pod", namespace="d", name="web", uid="u", type="Normal", reason="R", message=message)


def test_a_repeated_event_is_counted_and_becomes_the_newest() -> None:
    history = EventHistory()
    for at, message in enumerate(["a", "b", "a"]):
        history.add(event(message), float(at))
    assert [(one.message, one.count, one.first, one.last) for one in history.all()] == [
        ("b", 1, 1.0, 1.0),
        ("a", 2, 0.0, 2.0),
    ]


@given(st.lists(st.sampled_from("abcdef")), st.integers(1, 6))
def test_the_history_keeps_the_newest_distinct_events(messages: list[str], limit: int) -> None:
    history = EventHistory(limit)
    for at, message in enumerate(messages):
        history.add(event(message), float(at))
    newest = list(dict.fromkeys(reversed(messages)))[:limit]
    assert [one.message for one in reversed(history.all())] == newest
