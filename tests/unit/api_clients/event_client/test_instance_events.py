"""Events that occur once in the life of a container."""

from __future__ import annotations

from actors.api_clients.event_client.instance_events import InstanceEvents
from actors.api_clients.event_client.messages import RecordEvent


def event(reason: str, instance: str) -> RecordEvent:
    return RecordEvent(kind="Pod", name="web", type="Normal", reason=reason, message="m", instance=instance)


def test_an_event_with_an_instance_is_new_once_and_one_without_is_always_new() -> None:
    seen = InstanceEvents()
    told = [("Killing", "1"), ("Killing", "1"), ("Killing", "2"), ("Started", "1"), ("Pulled", ""), ("Pulled", "")]
    assert [seen.is_new(event(*one)) for one in told] == [True, False, True, True, True, True]


def test_the_newest_are_known() -> None:
    seen = InstanceEvents(limit=2)
    for instance in "123":
        assert seen.is_new(event("Killing", instance))
    assert [seen.is_new(event("Killing", instance)) for instance in "321"] == [False, False, True]
