"""Which events a pull has, however often the worker asks for it."""

from __future__ import annotations

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.image_manager.messages import EnsureImage
from actors.image_manager.pull_events import PullEvents

IMAGE = "app:1"
PULLING = ("Pulling", f'Pulling image "{IMAGE}"')


def question(uid: str = "u", field: str = "spec.containers{a}") -> EnsureImage:
    return EnsureImage(uid, "ns", "web", "a", IMAGE, "", field=field)


class Node:
    def __init__(self, *, verified: bool = True) -> None:
        self.now = 100.0
        self.emitted: list[RecordEvent] = []
        self.events = PullEvents(self.emitted.append, lambda: self.now, verified=verified)

    def told(self) -> list[tuple[str, str]]:
        """Since the last call."""
        found = [(event.reason, event.message) for event in self.emitted]
        self.emitted.clear()
        return found


def pulled(seconds: str, waited: str) -> tuple[str, str]:
    text = f'Successfully pulled image "{IMAGE}" in {seconds} ({waited} including waiting). Image size: 7 bytes.'
    return "Pulled", text


def test_a_pull_has_an_event_of_its_start_and_of_its_end_with_its_times() -> None:
    node = Node()
    started = node.events.started(question())
    node.now += 5.0
    node.events.pulled(IMAGE, 2.0)
    node.events.ended(question(), started, 7, IMAGE)
    assert node.told() == [PULLING, pulled("2s", "5s")]


def test_a_worker_that_asks_again_gets_one_event_of_each_with_the_time_of_its_first_question() -> None:
    node = Node()
    first = node.events.started(question())
    node.now += 3.0
    second = node.events.started(question())
    node.now += 1.0
    node.events.ended(question(), first, 7, IMAGE)
    assert node.told() == [PULLING]
    node.events.ended(question(), second, 7, IMAGE)
    assert node.told() == [pulled("4s", "4s")]


def test_the_end_that_nobody_reported_is_reported_when_the_image_is_found_present() -> None:
    node = Node()
    node.events.started(question())
    node.told()
    node.now += 2.0
    node.events.present(question(), 7, IMAGE)
    assert node.told() == [pulled("2s", "2s")]
    node.events.present(question(), 7, IMAGE)
    present = f'Container image "{IMAGE}" already present on machine and can be accessed by the pod'
    assert node.told() == [("Pulled", present)]


def test_without_verification_a_present_image_is_only_present() -> None:
    node = Node(verified=False)
    node.events.present(question(), 7, IMAGE)
    assert node.told() == [("Pulled", f'Container image "{IMAGE}" already present on machine')]


def test_a_failed_pull_has_no_event_of_its_end_and_the_next_one_starts_anew() -> None:
    node = Node()
    node.events.ended(question(), node.events.started(question()), None, IMAGE)
    assert node.told() == [PULLING]
    node.now += 9.0
    node.events.ended(question(), node.events.started(question()), 7, IMAGE)
    assert node.told() == [PULLING, pulled("0s", "0s")]


@pytest.mark.parametrize("other", [question(uid="v"), question(field="spec.containers{b}")])
def test_each_container_of_each_pod_has_its_own_events(other: EnsureImage) -> None:
    node = Node()
    started = node.events.started(question())
    node.events.started(other)
    assert node.told() == [PULLING, PULLING]
    node.events.ended(question(), started, 7, IMAGE)
    assert node.told() == [pulled("0s", "0s")]


def test_a_pod_that_is_gone_is_forgotten() -> None:
    node = Node()
    gone, stays = node.events.started(question(uid="gone")), node.events.started(question())
    node.events.retain(lambda uid: uid == "u")
    node.told()
    node.events.ended(question(uid="gone"), gone, 7, IMAGE)
    assert node.told() == []
    node.events.ended(question(), stays, 7, IMAGE)
    assert len(node.told()) == 1
