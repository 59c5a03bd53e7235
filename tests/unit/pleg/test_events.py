"""What happened between two looks at the runtime."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pleg.events import EventType, ListedContainer, PodLifecycleEvent, events, listing
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox

S, E = CriContainerState, EventType


def one(state: CriContainerState | None) -> dict[str, ListedContainer]:
    return {} if state is None else {"c": ListedContainer("u", state)}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, S.RUNNING, [E.CONTAINER_STARTED]),
        (None, S.EXITED, [E.CONTAINER_DIED]),
        (S.CREATED, S.RUNNING, [E.CONTAINER_STARTED]),
        (S.RUNNING, S.EXITED, [E.CONTAINER_DIED]),
        (S.RUNNING, S.UNKNOWN, [E.CONTAINER_CHANGED]),
        (S.RUNNING, S.RUNNING, []),
        (S.EXITED, None, [E.CONTAINER_REMOVED]),
        (S.RUNNING, None, [E.CONTAINER_DIED, E.CONTAINER_REMOVED]),
    ],
)
def test_a_change_of_state_is_an_event(old, new, expected):
    assert [event.type for event in events(one(old), one(new))] == expected


listings = st.dictionaries(
    st.text("abc", min_size=1, max_size=2), st.builds(ListedContainer, st.sampled_from("uv"), st.sampled_from(S))
)


@given(listings, listings)
def test_events_are_of_what_differs_and_of_nothing_else(old, new):
    named = {event.id for event in events(old, new)}
    states = {key: (old.get(key) and old[key].state, new.get(key) and new[key].state) for key in {*old, *new}}
    assert named == {key for key, (before, after) in states.items() if before != after}


@given(listings)
def test_the_same_listing_has_no_events(listing):
    assert events(listing, listing) == []


def test_an_event_names_the_pod():
    assert events({}, one(S.RUNNING)) == [PodLifecycleEvent("u", E.CONTAINER_STARTED, "c")]


def test_a_listing_has_sandboxes_and_containers_a_sandbox_runs_while_it_is_ready():
    boxes = [
        Sandbox(id=id, pod_uid="u", pod_name="p", pod_namespace="n", ready=ready)
        for id, ready in (("s", True), ("t", False))
    ]
    found = listing(boxes, [CriContainer(id="c", name="a", pod_uid="v", state=S.CREATED)])
    assert found == {
        "s": ListedContainer("u", S.RUNNING),
        "t": ListedContainer("u", S.EXITED),
        "c": ListedContainer("v", S.CREATED),
    }
