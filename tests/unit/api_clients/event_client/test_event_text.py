"""An event as a line of the log, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.event_client.event_history import EventHistory
from actors.api_clients.event_client.event_text import log_text, read
from actors.api_clients.event_client.messages import RecordEvent

FIELDS = st.sampled_from(["", "spec.containers{main}", "spec.initContainers{a}"])


@given(message=st.text(), field=FIELDS, count=st.integers(1, 10**6), namespace=st.sampled_from(["", "shop"]))
def test_an_event_and_its_count_are_read_as_they_were_logged(message: str, field: str, count: int, namespace: str):
    event = RecordEvent(
        kind="Pod", namespace=namespace, name="web", type="Warning", reason="BackOff", message=message, field=field
    )
    counted = EventHistory().add(event, 1.0, count)
    assert read(log_text(counted), "Warning") == (event, count)


@pytest.mark.parametrize("text", ["", "event", 'an event Pod a/b R: "m" ', 'event Pod a/b R "m"'])
def test_another_text_is_no_event(text: str):
    assert read(text, "Normal") is None
