"""Events: counted, combined, held back; and the backlog of those that are not written yet."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.event_client.backlog import EventBacklog
from actors.api_clients.event_client.correlation import (
    CACHE,
    COMBINED,
    SPAM_BURST,
    CorrelatedEvent,
    Correlator,
    RecentEntries,
    event_name,
)
from actors.api_clients.event_client.event_object import count_patch, event_object, involved_object
from actors.api_clients.event_client.messages import RecordEvent
from tests.support.present import present

SECOND = 10**9


def new_event(message: str = "m", **more: Any) -> RecordEvent:
    known = {"kind": "Pod", "namespace": "d", "name": "web", "uid": "u", "field": "", "type": "Normal", "reason": "R"}
    return RecordEvent(message=message, **{**known, **more})


def run(correlator: Correlator, *messages: str, at: float = 0.0, **more: Any) -> list[CorrelatedEvent]:
    return [
        present(correlator.correlate(new_event(message, **more), at + n, round((1000 + at + n) * SECOND)))
        for n, message in enumerate(messages)
    ]


def test_a_repeated_event_is_one_event_with_a_count():
    one, two, three = run(Correlator(), "m", "m", "m")
    assert [event.count for event in (one, two, three)] == [1, 2, 3]
    assert {event.event_name for event in (one, two, three)} == {one.event_name}
    assert (three.first, three.last) == (1000.0, 1002.0)


def test_other_objects_parts_reasons_and_types_are_counted_apart():
    correlator = Correlator()
    others: tuple[dict[str, Any], ...] = (
        {},
        {"uid": "v"},
        {"field": "spec.containers{a}"},
        {"reason": "S"},
        {"type": "Warning"},
    )
    for more in others:
        (event,) = run(correlator, "m", **more)
        assert event.count == 1


def test_a_burst_of_warnings_leaves_a_burst_of_normal_events():
    correlator = Correlator()
    of = [correlator.correlate(new_event("m", type="Warning"), 0.0, SECOND) for _ in range(SPAM_BURST + 1)]
    assert [one is not None for one in of] == [True] * SPAM_BURST + [False]
    assert len(run(correlator, *["m"] * SPAM_BURST)) == SPAM_BURST
    assert correlator.correlate(new_event("m"), 0.0, SECOND) is None


def test_from_the_tenth_message_of_a_kind_they_are_combined():
    events = run(Correlator(), *(f"m{n}" for n in range(13)))
    assert all(event.count == 1 and not event.content.message.startswith(COMBINED) for event in events[:9])
    assert [event.count for event in events[9:]] == [1, 2, 3, 4]
    assert events[12].content.message == COMBINED + "m12"
    assert len({event.key for event in events[9:]}) == 1


def test_ten_quiet_minutes_make_them_single_again():
    correlator = Correlator()
    run(correlator, *(f"m{n}" for n in range(12)))
    (event,) = run(correlator, "m99", at=11 + 601)
    assert event.content.message == "m99"


def test_a_noisy_object_has_25_events_and_then_one_in_five_minutes():
    correlator = Correlator()
    said = [correlator.correlate(new_event(), 0.0, SECOND) for _ in range(40)]
    assert sum(one is not None for one in said) == 25
    assert correlator.correlate(new_event(), 299.0, SECOND) is None
    assert correlator.correlate(new_event(), 301.0, SECOND) is not None
    assert correlator.correlate(new_event(), 301.0, SECOND) is None
    assert correlator.correlate(new_event(uid="other"), 301.0, SECOND) is not None


def test_the_memory_of_events_is_bounded():
    recent: RecentEntries[int] = RecentEntries(3)
    for n in range(5):
        recent.put(n, n)
        recent.get(2)
    assert (len(recent), recent.get(2), recent.get(0)) == (3, 2, None)
    correlator = Correlator()
    for n in range(CACHE + 10):
        correlator.correlate(new_event(uid=str(n)), 0.0, n)
    assert len(correlator._logs) == len(correlator._similar) == len(correlator._buckets) == CACHE


@given(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True))
def test_an_events_name_is_never_too_long(name):
    made = event_name(name, 1_700_000_000 * SECOND)
    assert len(made) <= 253
    assert made.endswith(f".{1_700_000_000 * SECOND:x}")


def test_an_event_is_written_as_by_the_kubelet():
    (event,) = run(Correlator(), "Pulled it", field="spec.containers{a}", annotations={"k": "v"})
    assert event_object(event, "n1") == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"web.{1000 * SECOND:x}", "namespace": "d", "annotations": {"k": "v"}},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "d",
            "name": "web",
            "uid": "u",
            "apiVersion": "v1",
            "fieldPath": "spec.containers{a}",
        },
        "reason": "R",
        "message": "Pulled it",
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "1970-01-01T00:16:40Z",
        "lastTimestamp": "1970-01-01T00:16:40Z",
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": "n1",
    }
    assert count_patch(event) == {"count": 1, "lastTimestamp": "1970-01-01T00:16:40Z", "message": "Pulled it"}


def test_a_nodes_uid_in_events_is_its_name_and_they_are_kept_in_default():
    node = new_event(kind="Node", namespace="", name="n1", uid="")
    assert involved_object(node) == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}
    event = Correlator().correlate(node, 0.0, SECOND)
    assert event is not None
    assert event_object(event, "n1")["metadata"]["namespace"] == "default"


def test_only_the_newest_count_of_an_event_waits():
    backlog = EventBacklog()
    for event in run(Correlator(), "m", "m", "m"):
        backlog.put(event)
    assert len(backlog) == 1
    assert present(backlog.first()).count == 3


def test_the_oldest_goes_when_there_are_too_many():
    backlog, events = EventBacklog(2), run(Correlator(), "a", "b", "c")
    assert [backlog.put(event) for event in events] == [None, None, events[0]]
    assert backlog.first() is events[1]


def test_a_count_that_came_while_the_one_before_was_written_is_written_too():
    backlog = EventBacklog()
    one, two = run(Correlator(), "m", "m")
    backlog.put(one)
    assert not backlog.stored_before(one)
    backlog.put(two)
    backlog.stored(one)
    assert backlog.first() is two
    assert backlog.stored_before(two)
    backlog.stored(two)
    assert backlog.first() is None


def test_an_event_missing_at_the_server_is_created_again_and_a_refused_one_dropped():
    backlog = EventBacklog()
    one, two = run(Correlator(), "m", "m")
    backlog.put(one)
    backlog.stored(one)
    backlog.put(two)
    backlog.vanished(two)
    assert (backlog.first(), backlog.stored_before(two)) == (two, False)
    backlog.lost(two)
    assert len(backlog) == 0


def test_an_entry_that_was_read_is_kept_before_one_that_was_not():
    recent: RecentEntries[int] = RecentEntries(2)
    recent.put(("a",), 1)
    recent.put(("b",), 2)
    assert recent.get(("a",)) == 1
    recent.put(("c",), 3)
    assert [recent.get((name,)) for name in "abc"] == [1, None, 3]


def test_the_name_of_an_event_is_cut_to_the_longest_that_the_api_takes():
    assert len(event_name("x" * 300, 1_700_000_000 * SECOND)) == 253
